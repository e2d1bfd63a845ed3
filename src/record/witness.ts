import type { Outcome } from "../action/outcome.ts";
import type { Gist } from "../message/gist.ts";
import { spell } from "../message/id.ts";
import type { Direction } from "../message/message.ts";
import type { Decision } from "../policy/verdict.ts";
import type { ServerId, SessionView } from "../session/session-view.ts";
import type { Turn } from "../session/turn.ts";
import type { Held, HoldEnd } from "../store/holds.ts";
import { classOf, describeJudged, describeLost, type EventClocks, TOO_LARGE_RULE } from "./audit-event.ts";
import { type CountName, createCounts, type Labels } from "./counts.ts";
import type { AuditEvent, PolicyStamp } from "./event.ts";
import { createLoginRefusals, type LoginRefusal } from "./login-refusals.ts";
import { describeRefusal, sender } from "./log/refusal.ts";
import type { Reporter } from "./log/report.ts";
import { createObservers, type Observer, whoIs } from "./observers.ts";

/**
 * Is told everything that happens and passes it on: first to the audit log, which alone may refuse a message; then to
 * the counters and the log; then to the observers, in the order in which they were added.
 */
export interface Witness {
  /**
   * Records the outcome of a message; `stamp` is the policy that judged it. Throws if the message must be audited and
   * could not be.
   */
  saw(turn: Turn, decision: Decision, outcome: Outcome, stamp?: PolicyStamp): void;
  /** Records a message that was too large to keep. */
  lost(session: SessionView, direction: Direction, gist: Gist, bytes: number, stamp?: PolicyStamp): void;
  /** Records a request that was refused for lack of authorization. */
  refusedLogin(refusal: LoginRefusal): void;
  /** Reports a problem that does not belong to a single message. */
  trouble(rule: string, text: string): void;
  /** Counts something other than messages, or adds to a metric. */
  count(name: CountName, labels: Labels, by?: number): void;
  /** How many messages were forwarded, and how many had another outcome, by verdict and rule. */
  counts(): Record<string, number>;
  /** Records that a client's session has begun. */
  opened(session: SessionView): void;
  /**
   * Records that the handshake of a session is complete. Ignored if the session was not opened: some handshakes begin
   * no session.
   */
  introduced(session: SessionView): void;
  /** Records that a session has ended. Only the first call for an opened session counts. */
  closed(session: SessionView): void;
  /** The sessions that are open. */
  sessions(): readonly SessionView[];
  /** Records that a message is held for a decision. */
  held(held: Held): void;
  /** Records that it is not held any more: by a decision, by a timeout, or because the client has gone. */
  released(held: Held, end: HoldEnd): void;
  /** Records that another policy is in force. */
  changedPolicy(stamp: PolicyStamp): void;
  /** Adds an observer, and returns a function that removes it. */
  observe(observer: Observer): () => void;
  /** Closes the sessions that are still open, and writes what was only counted so far. */
  end(): void;
}

/** Options of a witness. */
export interface WitnessOptions extends EventClocks {
  readonly reporter: Reporter;
  /** Takes the events for the audit log; null if there is none. */
  readonly audit: ((event: AuditEvent) => void) | null;
  /** Whether messages that are simply forwarded are audited too. */
  readonly auditAll: boolean;
  /** The server, for events that do not belong to a session. */
  readonly server?: ServerId | null;
  /** The current policy, for events that no policy judged. */
  readonly stamp?: () => PolicyStamp | undefined;
  readonly observers?: readonly Observer[];
}

/** Makes a witness. */
export function createWitness(options: WitnessOptions): Witness {
  const { reporter, audit, auditAll, time, server = null, stamp: current = () => undefined } = options;
  let passed = 0;
  const counts = createCounts();
  const sessions = new Set<SessionView>();
  const observers = createObservers(reporter);
  for (const observer of options.observers ?? []) observers.add(observer);
  const logins =
    audit === null ? null : createLoginRefusals({ audit, server, time, policy: () => current()?.version ?? null });

  function tellAudit(turn: Turn, decision: Decision, outcome: Outcome, stamp: PolicyStamp | undefined): void {
    if (audit === null) return;
    const isPlain = decision.rule === null && decision.note === undefined;
    if (!auditAll && isPlain && classOf(turn.message.envelope) === "pass") return;
    audit(describeJudged(turn, decision, outcome, stamp, options));
  }

  function count(name: CountName, labels: Labels, by = 1): void {
    counts.add(name, labels, by);
    if (observers.size > 0) observers.tell({ at: "counted", name, labels, by });
  }

  function close(session: SessionView): void {
    if (!sessions.delete(session)) return;
    if (observers.size > 0) observers.tell({ at: "session", state: "closed", who: whoIs(session) });
  }

  return {
    saw(turn, decision, outcome, stamp) {
      // First, because a message that cannot be audited is refused, and then nothing else may be recorded.
      tellAudit(turn, decision, outcome, stamp);
      const { verdict, rule, about = null, why = null } = decision;
      if (verdict.do === "pass") passed++;
      else counts.add("message", { verdict: verdict.do, rule: String(rule) }, 1);
      if (rule !== null && (verdict.do === "deny" || verdict.do === "drop")) {
        const { text, ...details } = describeRefusal(turn, verdict.do, rule, about, why);
        reporter.report(rule, text, details);
      }
      if (observers.size > 0) observers.tell({ at: "judged", turn, decision, outcome, stamp });
    },
    lost(session, direction, gist, bytes, stamp) {
      const rule = TOO_LARGE_RULE;
      const lost = { session, direction, id: gist.id === null ? null : spell(gist.id), bytes, stamp };
      counts.add("message", { verdict: "deny", rule }, 1);
      reporter.report(rule, `refused a message of ${bytes} bytes from the ${sender(direction)}`);
      audit?.(describeLost(lost, options));
      if (observers.size > 0) observers.tell({ at: "lost", rule, ...lost });
    },
    refusedLogin(refusal) {
      count("login", { by: refusal.by, rule: refusal.rule });
      logins?.refused(refusal);
    },
    trouble(rule, text) {
      reporter.report(rule, text);
      if (observers.size > 0) observers.tell({ at: "trouble", rule, text });
    },
    count,
    counts: () => ({ passed, ...counts.print() }),
    opened(session) {
      if (sessions.has(session)) return;
      sessions.add(session);
      if (observers.size > 0) observers.tell({ at: "session", state: "opened", who: whoIs(session) });
    },
    introduced(session) {
      if (observers.size === 0 || !sessions.has(session)) return;
      observers.tell({ at: "session", state: "introduced", who: whoIs(session) });
    },
    closed: close,
    sessions: () => [...sessions],
    held(held) {
      if (observers.size > 0) observers.tell({ at: "held", held });
    },
    released(held, end) {
      if (observers.size > 0) observers.tell({ at: "released", held, end });
    },
    changedPolicy(stamp) {
      if (observers.size > 0) observers.tell({ at: "policy", version: stamp.version });
    },
    observe: (observer) => observers.add(observer),
    end() {
      for (const session of sessions) close(session);
      logins?.end();
    },
  };
}
