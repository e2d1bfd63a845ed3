import type { Outcome } from "../action/outcome.ts";
import { createSeat } from "../bridge/seats.ts";
import { buildChain, prepareRules } from "../rules/chain/build.ts";
import { explainTurn, type StopExplanation } from "../rules/chain/explain.ts";
import { createDryServices } from "../rules/chain/dry-run.ts";
import { createMemoryState } from "../store/state.ts";
import { ProxyError } from "../errors.ts";
import { type Direction, openMessage, whole } from "../message/message.ts";
import { OWN_REVISION } from "../message/protocol.ts";
import type { PolicySettings } from "../config/settings.ts";
import { createToolFilter } from "../policy/tool-filter.ts";
import type { Decision } from "../policy/verdict.ts";
import type { Reporter } from "../record/log/report.ts";
import { createWitness } from "../record/witness.ts";
import { LINES } from "../session/exchange.ts";
import { DEFAULT_LIMITS } from "./limits.ts";

/** A message, and what it belongs to. */
export interface ExplainOptions {
  readonly settings: PolicySettings;
  readonly folder: string;
  /** JSON text. */
  readonly message: string;
  readonly direction: Direction;
  /** The request that it answers, where it is an answer: JSON text. */
  readonly request: string | null;
  readonly identity: string | null;
  /** The name of the client, as it reports it. */
  readonly client: string | null;
}

/** Why something happens to a message. */
export interface Explanation {
  readonly stops: readonly StopExplanation[];
  /** The pattern of the tool filter that hides the tool. It stands before the rules, and nothing overrules it. */
  readonly hiddenBy: string | null;
  readonly decision: Decision;
  readonly outcome: Outcome;
  /** What was not done, because this only explains. */
  readonly skipped: readonly string[];
}

/** Judges a message as the proxy would, and says why. Nobody is asked and nothing is sent. */
export async function explainMessage(options: ExplainOptions): Promise<Explanation> {
  const { settings, folder, message, direction, request } = options;
  const { interceptor } = settings;
  const skipped: string[] = [];
  const state = createMemoryState({ now });
  const services = createDryServices({ now, onSkipped: (what) => void skipped.push(what) });
  const chain = await buildChain(interceptor, { folder, observe: false, server: "explain", state, services });
  let seen: { readonly decision: Decision } | null = null;
  const witness = createWitness({ reporter: SILENT, audit: null, auditAll: false, time: Date.now, now });
  witness.observe((happening) => {
    if (happening.at === "judged") seen = happening;
  });
  const seat = createSeat(
    {
      // Without a server nobody knows its tools: what the filter makes of a name is found out beside it.
      rulebook: { current: { policy: { tools: null }, chain, observe: false } },
      witness,
      maxOpenCalls: DEFAULT_LIMITS.maxOpenCalls,
      maxParkedBytes: DEFAULT_LIMITS.maxParkedBytes,
      toolListMs: 1,
      onLearnt: () => {},
      now,
    },
    () => {},
    { owner: { identity: options.identity, scope: null, audience: null } },
  );
  const { passage, session } = seat;
  if (options.client !== null) {
    const clientInfo = { name: options.client, version: "" };
    const params = { protocolVersion: OWN_REVISION.stateful, capabilities: {}, clientInfo };
    await passage.pass(
      whole(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: "fairlead-client", method: "initialize", params }))),
      "up",
      LINES,
    );
  }
  if (request !== null) {
    const asked = await passage.pass(whole(Buffer.from(request)), direction === "up" ? "down" : "up", LINES);
    if (asked.onward === "nothing") throw unanswerable(request);
  }
  const payload = whole(Buffer.from(message));
  const turn = session.observe(openMessage(payload, direction, "refuse"), LINES);
  const stops = turn.trouble === null ? await explainTurn(await prepareRules(interceptor.rules), turn, state) : [];
  const hiddenBy = turn.opens?.method.name === "tools/call" ? findHider(settings, turn.opens.subject ?? "") : null;
  seen = null;
  const outcome = await passage.pass(payload, direction, LINES);
  const last = seen as { readonly decision: Decision } | null;
  return { stops, hiddenBy, decision: last?.decision ?? NOWHERE, outcome, skipped };
}

const now = (): number => performance.now();

const SILENT: Reporter = { report: () => {}, end: () => {} };

const NOWHERE: Decision = { verdict: { do: "drop" }, rule: null };

function findHider({ tools }: PolicySettings, tool: string): string | null {
  if (tools.deny.length === 0 && tools.allow.length === 0) return null;
  return createToolFilter({ deny: tools.deny, allow: tools.allow }).hiddenBy([tool])[0];
}

function unanswerable(request: string): ProxyError {
  const shown = request.length > 80 ? `${request.slice(0, 80)}…` : request;
  return new ProxyError("BAD_USAGE", `The request does not pass, so nothing answers it: ${shown}`, "Explain it first");
}
