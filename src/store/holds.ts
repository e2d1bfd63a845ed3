import { randomUUID } from "node:crypto";
import type { Direction } from "../message/message.ts";

/** A message that waits for a person, with all that a person needs to decide. */
export interface HoldRequest {
  /** Which server it goes to, or comes from. */
  readonly server: string;
  /** The conversation it belongs to. */
  readonly session: string;
  /** Who the client is, and what it calls itself; null where that is not known. */
  readonly identity: string | null;
  readonly client: string | null;
  readonly direction: Direction;
  /** Its method, or that of the request it answers. */
  readonly method: string | null;
  readonly tool: string | null;
  /** The rule, breakpoint or interceptor that holds it. */
  readonly rule: string;
  /** What the person is asked; null where the rule does not say. */
  readonly ask: string | null;
  /** The bytes of the message, as it is by now. */
  readonly message: Buffer;
  readonly timeoutMs: number;
  /** What becomes of it where nobody decides in time. */
  readonly atDeadline: "deny" | "allow";
  /** Why these bytes cannot take the place of the message; null where they can. */
  readonly check: (message: Buffer) => string | null;
}

/** A message that is held. */
export interface Held extends Omit<HoldRequest, "timeoutMs" | "check"> {
  readonly id: string;
  /** By the clock on the wall, in milliseconds: people read it. */
  readonly since: number;
  readonly deadline: number;
}

/** What a person says to a message. */
export type HoldVerdict =
  | { readonly do: "allow" }
  /** It may go on as this. It is judged like any message that was changed. */
  | { readonly do: "change"; readonly message: Buffer }
  /** `reason` is for the client to read. */
  | { readonly do: "deny"; readonly reason: string | null };

/** How a hold ended. */
export type HoldEnd =
  /** `who` decided. */
  | { readonly by: "decision"; readonly verdict: HoldVerdict; readonly who: string }
  /** Nobody decided in time. */
  | { readonly by: "deadline" }
  /** The client cancelled the message or went away, or the conversation ended. */
  | { readonly by: "withdrawal" }
  /** It was never held, because too many others are. */
  | { readonly by: "no-room" };

/** Hears what is held and released. */
export interface HoldListener {
  held(held: Held): void;
  released(held: Held, end: HoldEnd): void;
}

/** The messages that wait for a person. Whoever has the book may decide. */
export interface HoldBook {
  /** All that are held, the one with the least time left first. */
  list(): readonly Held[];
  /**
   * Ends a hold. The first decision counts: false where the message is not held any more. Also false, and the message
   * stays held, where the bytes of a change cannot take its place: `check` says why.
   */
  decide(id: string, verdict: HoldVerdict, by: string): boolean;
  /** Why these bytes cannot take the place of a message that is held; null where they can, or where it is not held. */
  check(id: string, message: Buffer): string | null;
  /** Holds a message until somebody decides, its time is over, or the signal says that nobody waits for it. Never rejects. */
  hold(request: HoldRequest, signal: AbortSignal): Promise<HoldEnd>;
  /** A conversation has ended: nothing of it is held any more. */
  endSession(session: string): void;
  /** Tells somebody what is held and released from now on. Call what is returned to end that. */
  listen(listener: HoldListener): () => void;
  /** Ends all holds, and holds nothing any more. */
  close(): void;
}

/** How a book is made. */
export interface HoldBookOptions {
  /** Milliseconds of the clock on the wall. */
  readonly now: () => number;
  /** Does something later, unless what is returned is called before. */
  readonly after?: (milliseconds: number, fire: () => void) => () => void;
  readonly maxHeld?: number;
  readonly maxHeldInSession?: number;
  readonly maxHeldBytes?: number;
  /** Told where a listener threw. */
  readonly onTrouble?: (error: unknown) => void;
}

/** So many messages may be held at a time, and so many of one session: more than people can look at. */
const MAX_HELD = 200;
const MAX_HELD_IN_SESSION = 20;
/** So many bytes of messages may be held at a time, all together. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
/** A longer time is no longer for `setTimeout`, which would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

interface Entry {
  readonly held: Held;
  readonly check: HoldRequest["check"];
  readonly end: (end: HoldEnd) => void;
}

/** Makes a book in memory. A message that is held waits in the process that it came to. */
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
          if (!entries.delete(held.id)) return; // it has ended already
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
