import type { Outcome } from "../action/outcome.ts";
import type { Envelope } from "../message/envelope.ts";
import { spell } from "../message/id.ts";
import type { Gist } from "../message/gist.ts";
import type { Direction, Message } from "../message/message.ts";
import type { Class } from "../message/methods.ts";
import { readText } from "../message/text.ts";
import type { Decision } from "../policy/verdict.ts";
import { type ClientInfo, readClaimedInfo } from "../session/owner.ts";
import type { SessionView } from "../session/session-view.ts";
import type { Turn } from "../session/turn.ts";
import type { AuditEvent, PolicyStamp } from "./event.ts";
import { createLoginRefusals, type LoginRefusal } from "./login-refusals.ts";
import { describeRefusal, sender } from "./log/refusal.ts";
import type { Reporter } from "./log/report.ts";

/** Sees what becomes of every message, and tells whoever should know: the audit log, the log for people. */
export interface Witness {
  /** `came` is the message as it came, where the turn has it changed; `stamp` is the policy it was judged by. */
  saw(turn: Turn, decision: Decision, outcome: Outcome, came?: Message, stamp?: PolicyStamp): void;
  /** A message that was too large to keep. */
  lost(session: SessionView, direction: Direction, gist: Gist, bytes: number, stamp?: PolicyStamp): void;
  /** A request that was refused for want of permission. */
  refusedLogin(refusal: LoginRefusal): void;
  /** Something that is wrong, but with no single message. */
  trouble(rule: string, text: string): void;
  /** Counts something beside messages, or adds to a number that people want to know. */
  count(what: string, by?: number): void;
  /** How many messages passed, and how many of the others met which end by which rule. */
  counts(): Record<string, number>;
  /** Writes what was only counted so far. */
  end(): void;
}

/** How a witness is made. */
export interface WitnessOptions {
  readonly reporter: Reporter;
  /** Takes what is to be audited, or null where nothing is. */
  readonly audit: ((event: AuditEvent) => void) | null;
  /** Whether the messages that simply pass are audited too. */
  readonly auditAll: boolean;
  /** The time on a wall. */
  readonly time: () => number;
  /** Milliseconds on the clock the session uses. */
  readonly now: () => number;
  /** What the server is called in the audit log. */
  readonly server?: string | null;
  /** The policy that holds now, for what no policy judged. */
  readonly stamp?: () => PolicyStamp | undefined;
}

/** Makes a witness. */
export function createWitness(options: WitnessOptions): Witness {
  const { reporter, audit, auditAll, time, now, server = null, stamp: current = () => undefined } = options;
  let passed = 0;
  const others = new Map<string, number>();
  const logins =
    audit === null ? null : createLoginRefusals({ audit, server, time, policy: () => current()?.version ?? null });

  function count(what: string, by = 1): void {
    others.set(what, (others.get(what) ?? 0) + by);
  }

  function tellAudit(
    turn: Turn,
    decision: Decision,
    outcome: Outcome,
    { start, end }: Message,
    stamp: PolicyStamp | undefined,
  ): void {
    const { verdict, rule, note = null, about = null } = decision;
    const { envelope, direction } = turn.message;
    if (audit === null) return;
    const level = classOf(envelope);
    if (!auditAll && level === "pass" && rule === null && note === null) return;
    const call = turn.answers ?? turn.opens;
    // Member by member: spread in, so many members would make it a dictionary, and tens of times slower to read.
    audit({
      time: time(),
      session: turn.session.id,
      direction,
      kind: envelope.kind,
      method: call?.method.name ?? ("method" in envelope ? envelope.method.name : null),
      tool: call?.subject ?? about,
      cut: lengthOfCut(turn),
      id: "id" in envelope && envelope.id !== null ? spell(envelope.id) : null,
      bytes: end - start,
      class: level,
      verdict: verdict.do,
      rule,
      note,
      latency: turn.answers === undefined ? null : now() - turn.answers.since,
      sent: typeof outcome.onward === "string" ? null : outcome.onward.length,
      identity: turn.session.identity,
      client: clientOf(turn),
      server,
      mcpSession: turn.session.mcpSession,
      policy: stamp?.version ?? null,
      reason: reasonOf(decision),
      metadata: rule === null ? null : (stamp?.metadata(rule) ?? null),
      status: null,
      address: null,
      times: null,
    });
  }

  return {
    counts: () => ({ passed, ...Object.fromEntries(others) }),
    saw(turn, decision, outcome, came = turn.message, stamp) {
      // First: what cannot be audited may not pass, and then none of this was so.
      tellAudit(turn, decision, outcome, came, stamp);
      const { verdict, rule, about = null, why = null } = decision;
      if (verdict.do === "pass") passed++;
      else count(`${verdict.do} ${rule}`);
      if (rule !== null && (verdict.do === "deny" || verdict.do === "drop")) {
        const { text, ...details } = describeRefusal(turn, verdict.do, rule, about, why);
        reporter.report(rule, text, details);
      }
    },
    lost(session, direction, { id }, bytes, stamp) {
      count("deny strict:too-large");
      reporter.report("strict:too-large", `refused a message of ${bytes} bytes from the ${sender(direction)}`);
      audit?.({
        time: time(),
        session: session.id,
        direction,
        kind: "opaque",
        method: null,
        tool: null,
        cut: null,
        id: id === null ? null : spell(id),
        bytes,
        class: "log",
        verdict: "deny",
        rule: "strict:too-large",
        note: null,
        latency: null,
        sent: null,
        identity: session.identity,
        client: session.clientInfo(),
        server,
        mcpSession: session.mcpSession,
        policy: stamp?.version ?? null,
        reason: null,
        metadata: null,
        status: null,
        address: null,
        times: null,
      });
    },
    refusedLogin(refusal) {
      count(refusal.by === "us" ? `deny ${refusal.rule}` : "login refused by the server");
      logins?.refused(refusal);
    },
    count,
    trouble: (rule, text) => reporter.report(rule, text),
    end: () => logins?.end(),
  };
}

/** By the handshake; since 2026-07-28 a client says in each request who it is. */
function clientOf({ session, message: { bytes, direction, envelope } }: Turn): ClientInfo | null {
  const known = session.clientInfo();
  if (known !== null || direction !== "up" || envelope.kind !== "request") return known;
  return readClaimedInfo(bytes, envelope.params);
}

/** What whoever waits is told, or the beginning of it; for what nobody waits for, what they would have been told. */
function reasonOf({ verdict }: Decision): string | null {
  const reason = verdict.do === "deny" ? verdict.error.message : verdict.do === "drop" ? verdict.reason : undefined;
  if (reason === undefined) return null;
  return reason.length > MAX_REASON_CHARACTERS ? `${reason.slice(0, MAX_REASON_CHARACTERS)}…` : reason;
}

const MAX_REASON_CHARACTERS = 500;

/** How long the subject of a request was, where the session has kept only its start. */
function lengthOfCut({ message: { bytes, envelope }, opens }: Turn): number | null {
  if (envelope.kind !== "request" || envelope.subject === null || typeof opens?.subject !== "string") return null;
  const { start, end } = envelope.subject;
  const { length } = opens.subject;
  if (end - start - 2 === length) return null; // usually: a character for a byte between the quotes
  const whole = readText(bytes, start + 1, end - 1).length;
  return whole > length ? whole : null;
}

/** Answers are passed, requests have the class of their method, and what cannot be read is worth a line. */
function classOf(envelope: Envelope): Class {
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
