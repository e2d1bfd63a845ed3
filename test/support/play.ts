import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Chain } from "../../src/rules/chain/chain.ts";
import type { Policy } from "../../src/policy/judge.ts";
import { parsePattern } from "../../src/policy/patterns.ts";
import { createToolFilter } from "../../src/policy/tool-filter.ts";
import type { AuditEvent } from "../../src/record/event.ts";
import { createLog } from "../../src/record/log/log.ts";
import { createReporter } from "../../src/record/log/report.ts";
import { createWitness } from "../../src/record/witness.ts";
import { createLearner } from "../../src/relay/learn.ts";
import { createOutlet } from "../../src/relay/outlet.ts";
import type { Rulebook } from "../../src/relay/decide.ts";
import { createPassage } from "../../src/relay/passage.ts";
import { pump } from "../../src/relay/pump.ts";
import type { Catalogue } from "../../src/session/catalogue.ts";
import { LINES } from "../../src/session/exchange.ts";
import type { Owner } from "../../src/session/owner.ts";
import { createSession } from "../../src/session/session.ts";

/** What each side heard, as text. */
export interface Heard {
  readonly client: string;
  readonly server: string;
}

/** A step of a conversation: somebody says something. */
export type Step = { readonly client: string } | { readonly server: string };

/** A policy that hides the tools these patterns match. */
export function denying(...patterns: string[]): Policy {
  return { tools: createToolFilter({ deny: patterns.map((pattern) => parsePattern(pattern, "deny")), allow: [] }) };
}

/** A policy without rules. */
export const OPEN: Policy = { tools: null };

/** How a stage is set. */
export interface StageOptions {
  readonly maxOpenCalls?: number;
  readonly maxMessageBytes?: number;
  readonly maxBufferBytes?: number;
  readonly maxDepth?: number;
  readonly toolListMs?: number;
  readonly maxParkedBytes?: number;
  readonly chain?: Chain | null;
  readonly owner?: Owner;
  readonly observe?: boolean;
  readonly keepsTools?: boolean;
  /** Takes events, beside the test. */
  readonly audit?: (event: AuditEvent) => void;
  readonly onLearnt?: (catalogue: Catalogue) => void;
  readonly onExhausted?: () => void;
  readonly onIntroduced?: () => void;
  readonly server?: string;
}

/** A relay between two sides that tests speak for. Its clock is theirs. */
export function stage(policy: Policy, options: StageOptions = {}) {
  const fromClient = new PassThrough();
  const fromServer = new PassThrough();
  const heard = { client: [] as Buffer[], server: [] as Buffer[] };
  const events: AuditEvent[] = [];
  const troubles: string[] = [];
  const said: string[] = [];
  let clock = 1000;
  const now = (): number => clock;
  const toClient = createOutlet(collector(heard.client), () => {});
  const toServer = createOutlet(collector(heard.server), () => {});
  const session = createSession({
    maxOpenCalls: options.maxOpenCalls ?? 1000,
    learnsTools: () => policy.tools !== null || policy.results != null,
    readsEras: () => policy.results != null,
    keepsTools: options.keepsTools ?? false,
    onLearnt: options.onLearnt ?? (() => {}),
    onExhausted: options.onExhausted ?? (() => {}),
    onIntroduced: options.onIntroduced ?? (() => {}),
    server: options.server,
    say: (direction, payload) => (direction === "up" ? toServer : toClient).writeLine(payload),
    now,
    ...(options.owner === undefined ? {} : { owner: options.owner }),
  });
  const log = createLog({ write: (line) => said.push(line.slice(line.indexOf(" ") + 1).trimEnd()) });
  const reporter = createReporter(log, now);
  const witness = createWitness({
    reporter: {
      ...reporter,
      report(rule, text, details) {
        if (details?.level !== "info") troubles.push(rule);
        reporter.report(rule, text, details);
      },
    },
    audit(event) {
      options.audit?.(event);
      events.push(event);
    },
    auditAll: true,
    time: () => 0,
    now,
  });
  const rulebook: Rulebook = { current: { policy, chain: options.chain ?? null, observe: options.observe ?? false } };
  const mirrors = (): boolean => rulebook.current.policy.tools?.notFound === "upstream";
  const learner = createLearner({ session, timeoutMs: options.toolListMs ?? 1000, mirrors });
  const passage = createPassage({
    session,
    rulebook,
    learner,
    witness,
    maxParkedBytes: options.maxParkedBytes ?? 1024 * 1024,
    maxDepth: options.maxDepth,
  });
  const { maxMessageBytes = 10 * 1024 * 1024, maxBufferBytes } = options;
  const shared = { passage, exchange: LINES, witness, maxMessageBytes, maxBufferBytes };
  const up = pump({ direction: "up", source: fromClient, onward: toServer, back: toClient }, shared);
  const down = pump({ direction: "down", source: fromServer, onward: toClient, back: toServer }, shared);

  return {
    session,
    passage,
    rulebook,
    witness,
    events,
    /** The rules that misbehaviour was reported for. */
    troubles,
    /** The lines of the log for people, without their times. */
    said,
    /** Lets time pass on the session's clock. */
    wait: (milliseconds: number): void => {
      clock += milliseconds;
    },
    client: async (...pieces: (string | Buffer)[]): Promise<void> => {
      for (const piece of pieces) fromClient.write(piece);
      await settle();
    },
    server: async (...pieces: (string | Buffer)[]): Promise<void> => {
      for (const piece of pieces) fromServer.write(piece);
      await settle();
    },
    /** What one side heard since it was last asked. */
    heard: (side: "client" | "server"): string => Buffer.concat(heard[side].splice(0)).toString("utf8"),
    /** Ends both sides and waits for what is left. */
    end: async (): Promise<void> => {
      fromClient.end();
      fromServer.end();
      await Promise.all([up, down]);
    },
  };
}

async function settle(): Promise<void> {
  await delay(0);
  await delay(0);
}

/** Plays a conversation and says what each side heard. */
export async function play(policy: Policy, ...steps: Step[]): Promise<Heard> {
  const { client, server, heard } = stage(policy);
  for (const step of steps) {
    if ("client" in step) await client(step.client);
    else await server(step.server);
  }
  return { client: heard("client"), server: heard("server") };
}

function collector(into: Buffer[]): PassThrough {
  const stream = new PassThrough();
  stream.on("data", (chunk: Buffer) => into.push(chunk));
  return stream;
}
