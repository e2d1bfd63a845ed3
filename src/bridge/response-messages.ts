import { kindOf } from "../link/upstream/head.ts";
import { composeErrorText } from "../message/compose.ts";
import { createExcess } from "../message/gist.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import { createEventFramer, pickData } from "../wire/events.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { INVALID, refusedWith } from "./answers.ts";
import { createBodyCollector } from "./body-back.ts";
import type { ServerListener } from "./server-end.ts";

/** A response that is being read. */
export interface Reading {
  push(chunk: Buffer): void;
  /** The response is over. What is known of its stream, where it was one. */
  end(): Followed | null;
  /** It broke off. Events that came whole were taken; a body that is not whole is none. */
  breakOff(): Followed | null;
}

/** How far an event stream came, and how long to wait before it is asked for again. */
interface Followed {
  readonly lastId: string | undefined;
  readonly retryMs: number;
}

/** What a response belongs to. */
export interface ReadingOptions {
  readonly head: ResponseHead;
  /** What was sent; null where nothing was, as for a stream of its own. */
  readonly about: Message | null;
  readonly maxMessageBytes: number;
  readonly listener: ServerListener;
  readonly take: (payload: Payload) => void;
}

/** How long to wait before a stream is asked for again that says nothing about it. */
export const DEFAULT_RETRY_MS = 1000;

/** Reads the messages out of a response, and makes a message of one that has none but should. */
export function readResponse(options: ReadingOptions): Reading {
  return kindOf(options.head) === "events" && options.head.status < 300 ? readEvents(options) : readBody(options);
}

function readEvents({ maxMessageBytes, listener, take }: ReadingOptions): Reading {
  let lastId: string | undefined;
  let retryMs = DEFAULT_RETRY_MS;
  const framer = createEventFramer(maxMessageBytes, {
    event({ id, retry, data }) {
      if (id !== null) lastId = id;
      if (retry !== null) retryMs = Math.min(retry, MAX_RETRY_MS);
      if (data !== null) take(data);
    },
    excess: createExcess((gist, bytes) => listener.lost(gist, bytes), pickData),
    tail: () => {},
  });
  const end = (): Followed => {
    framer.end();
    return { lastId, retryMs };
  };
  return { push: (chunk) => framer.push(chunk), end, breakOff: end };
}

const MAX_RETRY_MS = 60_000;

function readBody({ head, about, maxMessageBytes, listener, take }: ReadingOptions): Reading {
  const collector = createBodyCollector(maxMessageBytes);
  return {
    push: (chunk) => collector.push(chunk),
    end() {
      const collected = collector.end();
      const { body } = collected;
      const isJson = kindOf(head) === "json" && body !== null && body.length > 0;
      if (collected.body === null) listener.lost(collected.gist.end(), collected.bytes);
      // Whoever was told already that it was lost does not wait any more.
      const isRequest = about?.envelope.kind === "request" && (body !== null || listener.isWaiting(about));
      if (head.status < 300 && isJson) take(whole(body));
      else if (isRequest) take(whole(composeErrorText(about.envelope.id, errorOf(head.status, isJson ? body : null))));
      else if (head.status >= 300) listener.trouble("http:refused", `the server answered with status ${head.status}`);
      return null;
    },
    breakOff: () => null,
  };
}

/** The error in the body of a refusal, or one for its status: JSON text. */
function errorOf(status: number, body: Buffer | null): string {
  const message = body === null ? null : openMessage(whole(body), "down", "allow");
  if (message?.envelope.kind === "error") {
    const { start, end } = message.envelope.error;
    return message.bytes.toString("latin1", start, end);
  }
  return JSON.stringify(status >= 300 ? refusedWith(status) : INVALID);
}
