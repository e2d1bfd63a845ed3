import type { Era, Question, Template } from "./messages.ts";

/** Something that went wrong in a conversation. The first one ends it. */
export class Complaint extends Error {}

/** What is known of a request when it is sent. */
export interface AskFacts {
  readonly client: number;
  /** Which of its sessions it was sent in. */
  readonly session: number;
  readonly id: string;
  readonly question: Question;
  readonly era: Era;
  readonly progressToken: string | null;
  /** Whether it shares no session with others. */
  readonly isAlone: boolean;
  /** Whether another request with the same id was waiting when it was sent. */
  readonly isDuplicate: boolean;
  /** Whether policy keeps it from the server. */
  readonly isForbidden: boolean;
  /** Whether nothing stands in its way: its id is new, there is room for it, and its session is in order. */
  readonly mustPass: boolean;
}

/** A request that a client sent. */
export interface Ask extends AskFacts {
  readonly number: number;
  readonly template: Template;
  /** Those that were sent in the same batch, itself included. */
  mates: readonly Ask[];
  /** How often the server received it. */
  arrivals: number;
  /** How many answers the client has heard, those of resumed streams aside. */
  answers: number;
  /** The client has cancelled it; the server has heard of that. */
  isCancelled: boolean;
  isCancelHeard: boolean;
  /** The client closed the connection on which it waited. */
  isLeft: boolean;
  /** Its stream ended without an answer, and can be resumed after this event. */
  resumeAfter: string | null;
  /** How it ended visibly without an answer: a status of HTTP, or the end of the connection. */
  end: string | null;
  /** The server did something to it that may well be answered by an error. */
  isSpoilt: boolean;
  /** The server answered it properly, and nothing kept the answer from the client. */
  isReplied: boolean;
}

/** Whether a client waits no longer for what it asked. */
export function isOver({ answers, end }: Ask): boolean {
  return answers > 0 || end !== null;
}

/** What a server said to a client. */
export interface Saying {
  readonly number: number;
  readonly kind: "answer" | "request" | "notification";
  /** Whose it is: the client that it was said to; null where that is nobody in particular. */
  readonly client: number | null;
  /** The request that it was made for. */
  readonly ask: Ask | null;
  /** What the client must hear, if it hears it at all; null where it must not. */
  readonly visible: ((policy: number) => Template) | null;
  /** What it was sent with. */
  readonly id: string;
  readonly progressToken: string | null;
  /** Whether it is the answer to a request that the server knew to be cancelled. */
  readonly isLate: boolean;
  /** How often a client heard it, resumed streams aside. */
  heard: number;
  /** How many answers the server heard, where it is a request. */
  answers: number;
}

/** How a message came to a client. */
export interface Way {
  readonly kind: "line" | "response" | "standing" | "resumed";
  /** The requests that were sent with the HTTP request that this responds to. */
  readonly asks: readonly Ask[];
}

/** A message of the server's, and what a client may hear of it. */
export interface Made {
  readonly full: Template;
  readonly visible: ((policy: number) => Template) | null;
}
