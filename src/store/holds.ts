import { randomUUID } from "node:crypto";
import type { Direction } from "../message/message.ts";

/** A message to be held for a person, with everything that the person needs for a decision. */
export interface HoldRequest {
  /** The server that the message is sent to or comes from. */
  readonly server: string;
  /** The session that the message belongs to. */
  readonly session: string;
  /** The client's identity, and the name it gives itself; null if unknown. */
  readonly identity: string | null;
  readonly client: string | null;
  readonly direction: Direction;
  /** The method of the message; for a response, the method of its request. */
  readonly method: string | null;
  readonly tool: string | null;
  /** The rule, breakpoint or interceptor that holds the message. */
  readonly rule: string;
  /** The question that the person is asked; null if the rule has none. */
  readonly ask: string | null;
  /** The bytes of the message, with all changes made so far. */
  readonly message: Buffer;
  readonly timeoutMs: number;
  /** What happens to the message if nobody decides before the timeout. */
  readonly atDeadline: "deny" | "allow";
  /** Returns why these bytes cannot replace the message; null if they can. */
  readonly check: (message: Buffer) => string | null;
}

/** A message that is held. */
export interface Held extends Omit<HoldRequest, "timeoutMs" | "check"> {
  readonly id: string;
  /** Wall-clock time in milliseconds, because people read it. */
  readonly since: number;
  readonly deadline: number;
}

/** A person's decision about a held message. */
export type HoldVerdict =
  | { readonly do: "allow" }
  /** The message is replaced by this one, which is judged like any changed message. */
  | { readonly do: "change"; readonly message: Buffer }
  /** The client is sent `reason`. */
  | { readonly do: "deny"; readonly reason: string | null };

/** How a hold ended. */
export type HoldEnd =
  /** `who` is the person who decided. */
  | { readonly by: "decision"; readonly verdict: HoldVerdict; readonly who: string }
  /** Nobody decided before the timeout. */
  | { readonly by: "deadline" }
  /** The client cancelled the request or disconnected, or the session ended. */
  | { readonly by: "withdrawal" }
  /** The message was not held because a limit on held messages was reached. */
  | { readonly by: "no-room" };

/** Is called whenever a message is held or released. */
export interface HoldListener {
  held(held: Held): void;
  released(held: Held, end: HoldEnd): void;
}

/** All held messages. Code that has a reference to the book may decide about each of them. */
export interface HoldBook {
  /** All held messages, the one with the earliest deadline first. */
  list(): readonly Held[];
  /**
   * Ends a hold. Only the first decision counts: returns false if the message is no longer held. Also returns false,
   * and keeps holding the message, if the bytes of a change cannot replace it: `check` says why.
   */
  decide(id: string, verdict: HoldVerdict, by: string): boolean;
  /** Returns why these bytes cannot replace a held message; null if they can, or if no message with this id is held. */
  check(id: string, message: Buffer): string | null;
  /** Holds a message until somebody decides, the timeout expires or the signal aborts. Never rejects. */
  hold(request: HoldRequest, signal: AbortSignal): Promise<HoldEnd>;
  /** Ends all holds of a session that has ended. */
  endSession(session: string): void;
  /** Adds a listener. The returned function removes it. */
  listen(listener: HoldListener): () => void;
  /** Ends all holds. Later messages are not held. */
  close(): void;
}

/** The clock, the limits and the error callback of a hold book. */
export interface HoldBookOptions {
  /** Wall-clock time in milliseconds. */
  readonly now: () => number;
  /** Starts a timer and returns the function that cancels it. */
  readonly after?: (milliseconds: number, fire: () => void) => () => void;
  readonly maxHeld?: number;
  readonly maxHeldInSession?: number;
  readonly maxHeldBytes?: number;
  /** Is called with the error if a listener throws. */
  readonly onTrouble?: (error: unknown) => void;
}

/** How many messages may be held at a time, in total and per session. People cannot review more. */
const MAX_HELD = 200;
const MAX_HELD_IN_SESSION = 20;
/** How many bytes all held messages may have together. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
/** With a longer delay, `setTimeout` would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

interface Entry {
  readonly held: Held;
  readonly check: HoldRequest["check"];
  readonly end: (end: HoldEnd) => void;
}

/** Creates a book in memory. A message is held in the process that received it. */
export function createHoldBook(options: HoldBookOptions): HoldBook {
  const { now, after = afterTimeout, onTrouble = () => {} } = options;
  const { maxHeld = MAX_HELD, maxHeldInSession = MAX_HELD_IN_SESSION, maxHeldBytes = MAX_HELD_BYTES } = options;
  const entries = new Map<string, Entry>();
  const listeners = new Set<HoldListener>();
  let bytes = 0;
  let isClosed = false;

  function tell(what: (listener: HoldListener) => void): void {
    for (const listener of listeners) {
      try {
        what(listener);
      } catch (error) {
        onTrouble(error);
      }
    }
  }

  function hasRoom({ session, message }: HoldRequest): boolean {
    if (isClosed || entries.size >= maxHeld || bytes + message.length > maxHeldBytes) return false;
    let inSession = 0;
    for (const { held } of entries.values()) if (held.session === session) inSession++;
    return inSession < maxHeldInSession;
  }

  return {
    list: () => Array.from(entries.values(), ({ held }) => held).sort((one, other) => one.deadline - other.deadline),
    decide(id, verdict, by) {
      const entry = entries.get(id);
      if (entry === undefined) return false;
      if (verdict.do === "change" && entry.check(verdict.message) !== null) return false;
      entry.end({ by: "decision", verdict, who: by });
      return true;
    },
    check: (id, message) => entries.get(id)?.check(message) ?? null,
    hold({ check, timeoutMs, ...request }, signal) {
      if (signal.aborted) return Promise.resolve({ by: "withdrawal" });
      if (!hasRoom({ check, timeoutMs, ...request })) return Promise.resolve({ by: "no-room" });
      const since = now();
      const limit = Math.min(timeoutMs, MAX_TIMEOUT_MS);
      const held: Held = { ...request, id: randomUUID(), since, deadline: since + limit };
      return new Promise((resolve) => {
        const withdraw = (): void => end({ by: "withdrawal" });
        const stopTimer = after(limit, () => end({ by: "deadline" }));
        signal.addEventListener("abort", withdraw);
        entries.set(held.id, { held, check, end });
        bytes += held.message.length;
        tell((listener) => listener.held(held));

        function end(how: HoldEnd): void {
          if (!entries.delete(held.id)) return; // already ended
          bytes -= held.message.length;
          stopTimer();
          signal.removeEventListener("abort", withdraw);
          resolve(how);
          tell((listener) => listener.released(held, how));
        }
      });
    },
    endSession(session) {
      for (const { held, end } of entries.values()) if (held.session === session) end({ by: "withdrawal" });
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      isClosed = true;
      for (const { end } of entries.values()) end({ by: "withdrawal" });
    },
  };
}

function afterTimeout(milliseconds: number, fire: () => void): () => void {
  const timer = setTimeout(fire, milliseconds);
  return () => clearTimeout(timer);
}
