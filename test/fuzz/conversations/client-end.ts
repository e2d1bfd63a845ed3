import type { Ask } from "./records.ts";

/** What a client sends: the text of a message or a batch, and what its HTTP headers have to say about it. */
export interface Outgoing {
  readonly text: string;
  readonly asks: readonly Ask[];
  /** The headers that mirror a request of the stateless era; null in the older one. */
  readonly mirrored: { readonly method: string; readonly name: string | null } | null;
}

/** The client's end of a conversation, whatever its transport. What it cannot do, it does not do, and says so. */
export interface ClientEnd {
  /** Gets ready for another session; false where there can be none. */
  prepare(): boolean;
  /** Whether it is ready: then it may greet. */
  readonly isReady: boolean;
  send(message: Outgoing): void;
  /** Opens the stream for what the server says unasked, or resumes a stream after an event. */
  listen(lastEventId: string | null): boolean;
  /** Closes the connection on which a request waits. */
  leave(ask: Ask): boolean;
  /** Stops reading one of its streams. */
  hold(nth: number): boolean;
  /** Goes on reading all of them. */
  read(): void;
  /** Ends the session, as its transport does it. */
  remove(): boolean;
  /** Whether what is said to it can reach it at all. */
  readonly isAlive: boolean;
  /** Whether an answer to this request can reach it: its stream is open, and it reads. */
  hears(ask: Ask): boolean;
  /** Closes everything. */
  close(): void;
}
