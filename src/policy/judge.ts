import { FAULTS } from "../message/faults.ts";
import type { OpaqueEnvelope } from "../message/envelope.ts";
import type { Remark, Trouble, Turn } from "../session/turn.ts";
import { judgeNames, type NameFilters } from "./names/judge-names.ts";
import type { ResultJudge } from "./results/result-judge.ts";
import type { ToolFilter } from "./tool-filter.ts";
import { judgeTools } from "./tools.ts";
import { type Decision, PASS } from "./verdict.ts";

/** The filters and checks that decide about messages. The rules of the rule engine are not among them. */
export interface Policy {
  /** Null if no tool filter is configured: then lists and calls pass like other messages. */
  readonly tools: ToolFilter | null;
  /** The filters for prompts and resources; null if none is configured. */
  readonly names?: NameFilters | null;
  /** Checks the responses of servers against the MCP specification; null if that is not configured. */
  readonly results?: ResultJudge | null;
}

/** Decides about one message. It is the same function for every transport. */
export function judge(policy: Policy, turn: Turn): Decision {
  const { envelope } = turn.message;
  if (turn.trouble !== null) return TROUBLES[turn.trouble];
  if (envelope.kind === "opaque") return judgeOpaque(envelope);
  if (turn.answers !== undefined && turn.answers.claim !== null) return CLAIMED;
  if (turn.refersTo?.parked === true) return WITHDRAWN;
  if (policy.results != null && turn.answers !== undefined) {
    const misfit = policy.results.judge(turn, policy.tools !== null);
    if (misfit !== null) return misfit;
  }
  const decision = judgeByName(policy, turn);
  return decision === PASS && turn.remark !== null ? REMARKS[turn.remark] : decision;
}

function judgeByName({ tools, names = null }: Policy, turn: Turn): Decision {
  const decision = tools === null ? PASS : judgeTools(tools, turn);
  return decision === PASS && names !== null ? judgeNames(names, turn) : decision;
}

const REMARKS: Record<Remark, Decision> = {
  "error-without-id": { ...PASS, note: "error-without-id" },
  "unknown-cancel": { ...PASS, note: "unknown-cancel" },
  instructions: { ...PASS, note: "instructions" },
};

/** The response to a request of the proxy's own: it is not forwarded. */
const CLAIMED: Decision = { verdict: { do: "drop" }, rule: null };

/** For a call that was cancelled before it was forwarded: the call and its cancellation are both dropped. */
export const WITHDRAWN: Decision = { verdict: { do: "drop" }, rule: "session:withdrawn" };

/** The client disconnected while its message was held, so the response cannot be delivered. */
export const GONE: Decision = { verdict: { do: "drop" }, rule: "session:gone" };

/** An unreadable message does not pass. It gets an error response only if it looks like a request. */
function judgeOpaque({ fault, like }: OpaqueEnvelope): Decision {
  const { code, text } = FAULTS[fault];
  const rule = `strict:${fault}`;
  if (like !== "request") return { verdict: { do: "drop" }, rule };
  return { verdict: { do: "deny", error: { code, message: text } }, rule };
}

const TROUBLES: Record<Trouble, Decision> = {
  "duplicate-id": deny("duplicate-id", -32600, "Invalid request: the id is in use"),
  "spent-id": deny("spent-id", -32600, "Invalid request: the id belongs to a request that was cancelled"),
  "too-many-calls": deny("too-many-calls", -32000, "Too many requests are waiting for an answer"),
  "wrong-direction": deny("wrong-direction", -32601, "Method not found"),
  "request-without-id": { verdict: { do: "drop" }, rule: "session:request-without-id" },
  "notification-with-id": deny("notification-with-id", -32600, "Invalid request: a notification has no id"),
  "stray-answer": { verdict: { do: "drop" }, rule: "session:stray-answer" },
  "respelled-id": deny("respelled-id", -32000, "Invalid response"),
  "unreadable-answer": deny("unreadable-answer", -32000, "Invalid response"),
  "header-mismatch": deny("header-mismatch", -32020, "Header mismatch: the headers do not match the body"),
  batch: deny("batch", -32600, "Invalid request: batch not supported"),
};

function deny(trouble: Trouble, code: number, message: string): Decision {
  return { verdict: { do: "deny", error: { code, message } }, rule: `session:${trouble}` };
}
