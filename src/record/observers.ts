import type { Outcome } from "../action/outcome.ts";
import type { Direction } from "../message/message.ts";
import type { Decision } from "../policy/verdict.ts";
import type { ClientInfo } from "../session/owner.ts";
import type { ClientTransport, ServerId, SessionView } from "../session/session-view.ts";
import type { Turn } from "../session/turn.ts";
import type { Held, HoldEnd } from "../store/holds.ts";
import type { CountName, Labels } from "./counts.ts";
import type { PolicyStamp } from "./event.ts";
import type { Reporter } from "./log/report.ts";

/**
 * Something that observers are told. `at` says what it is about.
 *
 * A session is `opened` when it is made: before its first message, except where the server makes it (Streamable HTTP on both
 * sides): there it is opened when the server gives it an id, after `initialize` was judged. It is `introduced` when the
 * handshake is over and client and revision are known. It is `closed` once. A request of 2026-07-28 that comes by HTTP
 * belongs to no session and announces none: it is only `judged`, and says itself who sent it.
 */
export type Happening =
  | { readonly at: "session"; readonly state: "opened" | "introduced" | "closed"; readonly who: Who }
  /** What became of a message. The audit has taken it already. */
  | {
      readonly at: "judged";
      readonly turn: Turn;
      readonly decision: Decision;
      readonly outcome: Outcome;
      readonly stamp: PolicyStamp | undefined;
    }
  /** A message waits for a person to decide, or does not wait any more. */
  | { readonly at: "held"; readonly held: Held }
  | { readonly at: "released"; readonly held: Held; readonly end: HoldEnd }
  /** A message that was too large to keep. */
  | {
      readonly at: "lost";
      readonly session: SessionView;
      readonly direction: Direction;
      /** The id as it was spelled, as latin1; null where it could not be found. */
      readonly id: string | null;
      readonly bytes: number;
      readonly rule: string;
      readonly stamp: PolicyStamp | undefined;
    }
  /** Something that is wrong, but with no single message. */
  | { readonly at: "trouble"; readonly rule: string; readonly text: string }
  /** Something beside messages was counted: messages are `judged` or `lost`. */
  | { readonly at: "counted"; readonly name: CountName; readonly labels: Labels; readonly by: number }
  /** Another policy holds from now on. */
  | { readonly at: "policy"; readonly version: string };

/** Who speaks in a session, as far as that is known at the time. */
export interface Who {
  /** Our own id of the session, as in the audit log. */
  readonly session: string;
  /** The id by which client and server know it; null where there is none. */
  readonly mcpSession: string | null;
  /** What the client says of itself; null before the handshake. */
  readonly client: ClientInfo | null;
  /** Whom we let in, whom a trusted header names, or the address; null on stdin. */
  readonly identity: string | null;
  readonly transport: ClientTransport;
  /** The revision that the handshake settled on; null before it. */
  readonly revision: string | null;
  readonly server: ServerId;
}

/** Is told what happens. What it throws is logged once and concerns nobody else. */
export type Observer = (happening: Happening) => void;

/** Those who want to know what happens. */
export interface Observers {
  /** How many there are. Nobody makes a happening where there are none. */
  readonly size: number;
  /** Adds one behind the others, and returns how to remove it. */
  add(observer: Observer): () => void;
  tell(happening: Happening): void;
}

/** Keeps observers, and everybody else safe from them. */
export function createObservers(reporter: Reporter): Observers {
  let entries: readonly { readonly observe: Observer; hasFailed: boolean }[] = []; // replaced, so that one may leave while it is told

  const observers: Observers & { size: number } = {
    size: 0,
    add(observe) {
      const entry = { observe, hasFailed: false };
      entries = [...entries, entry];
      observers.size = entries.length;
      return () => {
        entries = entries.filter((each) => each !== entry);
        observers.size = entries.length;
      };
    },
    tell(happening) {
      for (const entry of entries) {
        try {
          // A function that waits for something may fail later, and nobody else would take notice of that but Node.
          const result: unknown = entry.observe(happening);
          if (result instanceof Promise) result.catch((error: unknown) => complain(entry, error));
        } catch (error) {
          complain(entry, error);
        }
      }
    },
  };

  function complain(entry: { hasFailed: boolean }, error: unknown): void {
    if (entry.hasFailed) return;
    entry.hasFailed = true;
    const why = error instanceof Error ? error.message : String(error);
    reporter.report("observer", `an observer failed: ${why}`);
  }

  return observers;
}

/** Who speaks in a session by now. */
export function whoIs(session: SessionView): Who {
  const { id, mcpSession, identity, transport, server } = session;
  const client = session.clientInfo();
  return { session: id, mcpSession, client, identity, transport, revision: session.revision(), server };
}
