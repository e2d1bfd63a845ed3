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
 * A session is `opened` when it is created, before its first message. If the server creates it (Streamable HTTP on both
 * sides), it is opened when the server assigns an id, after `initialize` was judged. It is `introduced` when the
 * handshake is complete, so that client and revision are known. It is `closed` once. A request of 2026-07-28 over HTTP
 * does not belong to a session: it is only `judged`, and says itself who sent it.
 */
export type Happening =
  | { readonly at: "session"; readonly state: "opened" | "introduced" | "closed"; readonly who: Who }
  /** The outcome of a message. The audit log has it already. */
  | {
      readonly at: "judged";
      readonly turn: Turn;
      readonly decision: Decision;
      readonly outcome: Outcome;
      readonly stamp: PolicyStamp | undefined;
    }
  /** A message is held for a decision, or is not held any more. */
  | { readonly at: "held"; readonly held: Held }
  | { readonly at: "released"; readonly held: Held; readonly end: HoldEnd }
  /** A message that was too large to keep. */
  | {
      readonly at: "lost";
      readonly session: SessionView;
      readonly direction: Direction;
      /** The id as it was spelled, as latin1; null if it could not be found. */
      readonly id: string | null;
      readonly bytes: number;
      readonly rule: string;
      readonly stamp: PolicyStamp | undefined;
    }
  /** A problem that does not belong to a single message. */
  | { readonly at: "trouble"; readonly rule: string; readonly text: string }
  /** Something other than a message was counted: messages are `judged` or `lost`. */
  | { readonly at: "counted"; readonly name: CountName; readonly labels: Labels; readonly by: number }
  /** Another policy is in force from now on. */
  | { readonly at: "policy"; readonly version: string };

/** The client and server of a session, as far as they are known at the time. */
export interface Who {
  /** The proxy's own id of the session, as in the audit log. */
  readonly session: string;
  /** The id that client and server use for it; null if there is none. */
  readonly mcpSession: string | null;
  /** The client's own name and version; null before the handshake. */
  readonly client: ClientInfo | null;
  /** The authenticated identity, the one in a trusted header, or the address; null on stdio. */
  readonly identity: string | null;
  readonly transport: ClientTransport;
  /** The negotiated revision; null before the handshake. */
  readonly revision: string | null;
  readonly server: ServerId;
}

/** Is called with each happening. An exception from it is logged once and has no other effect. */
export type Observer = (happening: Happening) => void;

/** The registered observers. */
export interface Observers {
  /** How many there are. With none, happenings need not be made. */
  readonly size: number;
  /** Adds an observer after the others, and returns a function that removes it. */
  add(observer: Observer): () => void;
  tell(happening: Happening): void;
}

/** Keeps the observers, and isolates everything else from their exceptions. */
export function createObservers(reporter: Reporter): Observers {
  // replaced on change, so that an observer may remove itself while it is called
  let entries: readonly { readonly observe: Observer; hasFailed: boolean }[] = [];

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
          // An async observer may fail later. Without a handler Node would end the process.
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

/** The client and server of a session, as far as they are known now. */
export function whoIs(session: SessionView): Who {
  const { id, mcpSession, identity, transport, server } = session;
  const client = session.clientInfo();
  return { session: id, mcpSession, client, identity, transport, revision: session.revision(), server };
}
