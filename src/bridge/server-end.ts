import { composeError, type WireError } from "../message/compose.ts";
import type { Gist } from "../message/gist.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";

/** One session with a server, message by message, whatever its transport. */
export interface ServerEnd {
  /** Sends what has been judged. `about` is the message it came as, and `calls` are those it opens. */
  send(payload: Buffer, about: Message, calls: readonly Call[]): void;
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
  lost(gist: Gist, bytes: number, exchange: Exchange): void;
  /** Whether the sender of this call still waits for its answer. */
  isWaiting(call: Call): boolean;
  /** Something that is wrong, but with no single message. */
  trouble(kind: string, text: string): void;
  /** Whether more should wait. */
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
}

/** Answers calls in place of a server that did not. Where it did not accept something else, that is only logged. */
export function answerInstead(listener: ServerListener, calls: readonly Call[], error: WireError): void {
  if (calls.length === 0) listener.trouble("http:refused", `the server did not accept a message: ${error.message}`);
  for (const call of calls)
    if (listener.isWaiting(call)) listener.message(whole(composeError(call.id, error)), bodiesFor(calls));
}

/** The calls that a message opens, or the messages of a batch. */
export function callsOf(turns: readonly Turn[]): readonly Call[] {
  return turns.flatMap(({ opens }) => opens ?? []);
}

/** Sends a message of our own to a server. */
export function sendOwn(server: ServerEnd | null, { calls }: Session, payload: Buffer): void {
  const about = openMessage(whole(payload), "up", "refuse");
  const { envelope } = about;
  const call = envelope.kind === "request" ? calls.up.find(envelope.id.key) : undefined;
  server?.send(payload, about, call === undefined ? [] : [call]);
}

/** Whether a message is an error of ours that answers nothing: what it is about had no id. By HTTP nobody waits for it. */
export function answersNothing({ envelope }: Message): boolean {
  return envelope.kind === "error" && envelope.id === null;
}

/** Messages that came by HTTP: line breaks may stand between tokens. */
export const BODIES: Exchange = {
  breaks: "allow",
  routed: true,
  mirrored: null,
  answerable: null,
  presence: null,
  resumed: false,
};

/** Those of a response to a request that opened these calls, and no others. */
export function bodiesFor(calls: readonly Call[]): Exchange {
  return { breaks: "allow", routed: true, mirrored: null, answerable: calls, presence: null, resumed: false };
}
