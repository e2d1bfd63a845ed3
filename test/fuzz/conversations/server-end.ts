import type { Ask } from "./records.ts";
import type { Question } from "./messages.ts";

/** A way by which a server can say something: a line, the response to a request, a stream that stands. */
export interface Outlet {
  /** Whose it is; null where it is everybody's. */
  readonly client: number | null;
  readonly isOpen: boolean;
  /** Whether it can still be answered with a body of JSON. */
  readonly isBare: boolean;
  /** Whether what is said here now, while nobody listens, is heard by who resumes it. */
  readonly isKept: boolean;
  /** Sends a message. */
  say(text: string, hasId: boolean): void;
  /** Responds with a body, where it can. */
  respond(text: string, status: number): void;
  /** Ends it: in order, or by breaking the connection. */
  end(): void;
  break(): void;
}

/** A request that the server has received and not answered yet. */
export interface Pending {
  /** Null where it is one of the proxy's own. */
  readonly ask: Ask | null;
  readonly question: Question;
  /** As the server received them. */
  readonly id: string;
  readonly progressToken: string | null;
  readonly outlet: Outlet;
}

/** The server's end of a conversation, whatever its transport. */
export interface ServerEnd {
  /** The ways that are open. */
  outlets(): readonly Outlet[];
  /** The ids of all events that were ever sent. */
  readonly eventIds: readonly string[];
  /** Forgets the session of a client: requests in it are refused from now on. */
  forget(client: number): boolean;
  /** Ends: the process is gone, or nobody listens any more. */
  die(): boolean;
  /** Is there again. */
  revive(): Promise<void>;
  readonly isAlive: boolean;
  close(): void;
}
