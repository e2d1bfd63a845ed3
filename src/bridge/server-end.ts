import { composeError, type WireError } from "../message/compose.ts";
import type { Gist } from "../message/gist.ts";
import { type Message, type Payload, whole } from "../message/message.ts";
import type { Exchange } from "../session/exchange.ts";

/** One session with a server, message by message, whatever its transport. */
export interface ServerEnd {
  /** Sends what has been judged. `about` is the message it came as. */
  send(payload: Buffer, about: Message): void;
  /** Whether what is sent now would have to wait. */
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
  /** Ends the session with the server's consent. */
  close(): Promise<void>;
  /** Ends it now. */
  destroy(): void;
}

/** Who hears what a server says. A request that fails is answered like any other, with an error. */
export interface ServerListener {
  message(payload: Payload, exchange: Exchange): void;
  /** A message that was too large to keep, and what could be told of it. */
  lost(gist: Gist, bytes: number): void;
  /** Whether the sender of this request still waits. */
  isWaiting(about: Message): boolean;
  /** Something that is wrong, but with no single message. */
  trouble(kind: string, text: string): void;
  /** Whether more should wait. */
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
}

/** Answers a request in place of a server that did not take it. Whatever else it did not take is only told. */
export function answerInstead(listener: ServerListener, { envelope }: Message, error: WireError): void {
  if (envelope.kind === "request") listener.message(whole(composeError(envelope.id, error)), BODIES);
  else listener.trouble("http:refused", `the server did not take a message: ${error.message}`);
}

/** Messages that came by HTTP: line breaks may stand between tokens. */
export const BODIES: Exchange = { breaks: "allow", routed: true, mirrored: null, resumed: false };

/** Those of a stream that was taken up again. */
export const RESUMED: Exchange = { ...BODIES, resumed: true };
