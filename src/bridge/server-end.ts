import { composeError, type WireError } from "../message/compose.ts";
import type { Gist } from "../message/gist.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";

/** One session with a server, independent of its transport. */
export interface ServerEnd {
  /** Sends bytes that have been judged. `about` is the message in them; `calls` are the calls that it opens. */
  send(payload: Buffer, about: Message, calls: readonly Call[]): void;
  /** Whether the sender should wait before sending more. */
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
  /** Ends the session in order, as the transport specifies. */
  close(): Promise<void>;
  /** Ends it without waiting. */
  destroy(): void;
}

/** Receives what a server sends. If a request fails, the listener receives an error response for it. */
export interface ServerListener {
  message(payload: Payload, exchange: Exchange): void;
  /** Called for a message that was too large to keep, with what could be read of it. */
  lost(gist: Gist, bytes: number, exchange: Exchange): void;
  /** Whether this call is still open. */
  isWaiting(call: Call): boolean;
  /** The proxy has answered a call in place of the server, which may still answer it. */
  givenUp(call: Call): void;
  /** Reports a problem that does not belong to a single message. */
  trouble(kind: string, text: string): void;
  /** Whether the server should stop sending for now. */
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
}

/**
 * Answers calls in place of a server that did not. If the server did not accept another message, this is only logged.
 * `mayAnswer` says that the server may have the request and answer it later, perhaps on the stream of a later request with
 * the same id: servers built on the official SDK find the stream of a response by the request's id. So the id is spent.
 */
export function answerInstead(
  listener: ServerListener,
  calls: readonly Call[],
  error: WireError,
  mayAnswer: boolean,
): void {
  if (calls.length === 0) listener.trouble("http:refused", `the server did not accept a message: ${error.message}`);
  for (const call of calls) {
    if (!listener.isWaiting(call)) continue;
    listener.message(whole(composeError(call.id, error)), bodiesFor(calls));
    if (mayAnswer) listener.givenUp(call);
  }
}

/** The calls that a message opens, or all messages of a batch. */
export function callsOf(turns: readonly Turn[]): readonly Call[] {
  return turns.flatMap(({ opens }) => opens ?? []);
}

/** Sends a message that the proxy composed to a server. */
export function sendOwn(server: ServerEnd | null, { calls }: Session, payload: Buffer): void {
  const about = openMessage(whole(payload), "up", "refuse");
  const { envelope } = about;
  const call = envelope.kind === "request" ? calls.up.find(envelope.id.key) : undefined;
  server?.send(payload, about, call === undefined ? [] : [call]);
}

/** Whether a message is an error response without an id. Over HTTP no request waits for it. */
export function answersNothing({ envelope }: Message): boolean {
  return envelope.kind === "error" && envelope.id === null;
}

/** Messages that arrive over HTTP: line breaks are allowed between tokens. */
export const BODIES: Exchange = {
  breaks: "allow",
  routed: true,
  mirrored: null,
  answerable: null,
  presence: null,
  resumed: false,
};

/** The same for the response to a request that opened these calls. It may not answer others. */
export function bodiesFor(calls: readonly Call[]): Exchange {
  return { breaks: "allow", routed: true, mirrored: null, answerable: calls, presence: null, resumed: false };
}
