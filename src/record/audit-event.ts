import type { Outcome } from "../action/outcome.ts";
import type { Envelope } from "../message/envelope.ts";
import { spell } from "../message/id.ts";
import type { Direction } from "../message/message.ts";
import type { Class } from "../message/methods.ts";
import { readText } from "../message/text.ts";
import type { Decision } from "../policy/verdict.ts";
import { type ClientInfo, readClaimedInfo } from "../session/owner.ts";
import type { SessionView } from "../session/session-view.ts";
import type { Turn } from "../session/turn.ts";
import type { AuditEvent, PolicyStamp } from "./event.ts";

/** The clocks that events use. */
export interface EventClocks {
  /** The wall clock, in milliseconds since 1970. */
  readonly time: () => number;
  /** Milliseconds on the clock the session uses. */
  readonly now: () => number;
}

/** Makes the event for a judged message. */
export function describeJudged(
  turn: Turn,
  decision: Decision,
  outcome: Outcome,
  stamp: PolicyStamp | undefined,
  { time, now }: EventClocks,
): AuditEvent {
  const { verdict, rule, note = null, about = null } = decision;
  const { session, came } = turn;
  const { envelope, direction } = turn.message;
  const call = turn.answers ?? turn.opens;
  // Written member by member: with object spread V8 would make a dictionary of so many members, which is many times
  // slower to read.
  return {
    time: time(),
    session: session.id,
    direction,
    kind: envelope.kind,
    method: call?.method.name ?? ("method" in envelope ? envelope.method.name : null),
    tool: call?.subject ?? about,
    cut: lengthOfCut(turn),
    id: "id" in envelope && envelope.id !== null ? spell(envelope.id) : null,
    bytes: came.end - came.start,
    class: classOf(envelope),
    verdict: verdict.do,
    rule,
    note,
    latency: turn.answers === undefined ? null : now() - turn.answers.since,
    sent: typeof outcome.onward === "string" ? null : outcome.onward.length,
    identity: session.identity,
    client: clientOf(turn),
    server: session.server,
    mcpSession: session.mcpSession,
    policy: stamp?.version ?? null,
    reason: reasonOf(decision),
    metadata: rule === null ? null : (stamp?.metadata(rule) ?? null),
    status: null,
    address: null,
    times: null,
  };
}

/** A message that was too large to keep. */
export interface LostMessage {
  readonly session: SessionView;
  readonly direction: Direction;
  /** The id as it was spelled, as latin1; null if it could not be found. */
  readonly id: string | null;
  readonly bytes: number;
  readonly stamp: PolicyStamp | undefined;
}

/** Makes the event for a message that was too large to keep. */
export function describeLost({ session, direction, id, bytes, stamp }: LostMessage, { time }: EventClocks): AuditEvent {
  return {
    time: time(),
    session: session.id,
    direction,
    kind: "opaque",
    method: null,
    tool: null,
    cut: null,
    id,
    bytes,
    class: "log",
    verdict: "deny",
    rule: TOO_LARGE_RULE,
    note: null,
    latency: null,
    sent: null,
    identity: session.identity,
    client: session.clientInfo(),
    server: session.server,
    mcpSession: session.mcpSession,
    policy: stamp?.version ?? null,
    reason: null,
    metadata: null,
    status: null,
    address: null,
    times: null,
  };
}

/** The rule name for messages that are too large to keep. */
export const TOO_LARGE_RULE = "strict:too-large";

/** Responses have the class "pass", requests the class of their method, and unreadable messages the class "log". */
export function classOf(envelope: Envelope): Class {
  switch (envelope.kind) {
    case "request":
    case "notification":
      return envelope.method.class;
    case "result":
    case "error":
      return "pass";
    case "batch":
    case "opaque":
      return "log";
  }
}

/** The client's name and version, from the handshake; since 2026-07-28 each request carries them. */
function clientOf({ session, message: { bytes, direction, envelope } }: Turn): ClientInfo | null {
  const known = session.clientInfo();
  if (known !== null || direction !== "up" || envelope.kind !== "request") return known;
  return readClaimedInfo(bytes, envelope.params);
}

/**
 * The error message that was sent, cut to a limit; for a message without a response, the one that would have been sent.
 */
function reasonOf({ verdict }: Decision): string | null {
  const reason = verdict.do === "deny" ? verdict.error.message : verdict.do === "drop" ? verdict.reason : undefined;
  if (reason === undefined) return null;
  return reason.length > MAX_REASON_CHARACTERS ? `${reason.slice(0, MAX_REASON_CHARACTERS)}…` : reason;
}

const MAX_REASON_CHARACTERS = 500;

/** The full length of a request's subject, if the session has kept only its start. */
function lengthOfCut({ message: { bytes, envelope }, opens }: Turn): number | null {
  if (envelope.kind !== "request" || envelope.subject === null || typeof opens?.subject !== "string") return null;
  const { start, end } = envelope.subject;
  const { length } = opens.subject;
  if (end - start - 2 === length) return null; // the usual case: one character per byte between the quotes
  const whole = readText(bytes, start + 1, end - 1).length;
  return whole > length ? whole : null;
}
