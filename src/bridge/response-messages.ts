import { kindOf } from "../link/upstream/head.ts";
import { composeErrorText } from "../message/compose.ts";
import { createExcess } from "../message/gist.ts";
import { openMessage, type Payload, whole } from "../message/message.ts";
import { pickData } from "../wire/event-fields.ts";
import { createEventFramer } from "../wire/events.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { INVALID, refusedWith } from "./answers.ts";
import { createBodyCollector } from "./body-back.ts";
import { bodiesFor, type ServerListener } from "./server-end.ts";

/** A response that is being read. */
export interface Reading {
  push(chunk: Buffer): void;
  /** Whether the response has passed the limit after which the proxy stops reading it. It may never end. */
  isHopeless(): boolean;
  /** How many bytes of memory it uses now. */
  weight(): number;
  /** Call at the end of the response. Returns how far an event stream came; null if it was a body. */
  end(): Followed | null;
  /** Call if the connection broke. Complete events have been processed; an incomplete body is dropped. */
  breakOff(): Followed | null;
}

/** How far an event stream came, and how long to wait before resuming it. */
interface Followed {
  readonly lastId: string | undefined;
  readonly retryMs: number;
}

/** The response to read, and what it belongs to. */
export interface ReadingOptions {
  readonly head: ResponseHead;
  /** The calls that it should answer; none for a standing stream. */
  readonly calls: readonly Call[];
  /** Whether the body is needed although it answers no call: it answers a request of the proxy itself. */
  readonly wantsBody?: boolean;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  readonly listener: ServerListener;
  readonly take: (payload: Payload, exchange: Exchange) => void;
}

/** How long to wait before resuming a stream if the server did not say. */
export const DEFAULT_RETRY_MS = 1000;

/** Reads the messages in a response. If a message is missing, an error response is composed instead. */
export function readResponse(options: ReadingOptions): Reading {
  return kindOf(options.head) === "events" && options.head.status < 300 ? readEvents(options) : readBody(options);
}

function readEvents({ calls, maxMessageBytes, maxBufferBytes, listener, take }: ReadingOptions): Reading {
  const exchange = bodiesFor(calls);
  let lastId: string | undefined;
  let retryMs = DEFAULT_RETRY_MS;
  const framer = createEventFramer(maxMessageBytes, {
    event({ id, retry, data }) {
      if (id !== null) lastId = id;
      if (retry !== null) retryMs = Math.min(retry, MAX_RETRY_MS);
      if (data !== null) take(data, exchange);
    },
    excess: createExcess((gist, bytes) => listener.lost(gist, bytes, exchange), maxBufferBytes, pickData),
    tail: () => {},
  });
  const end = (): Followed => {
    framer.end();
    return { lastId, retryMs };
  };
  return {
    push: (chunk) => framer.push(chunk),
    isHopeless: () => false,
    weight: () => framer.weight(),
    end,
    breakOff: end,
  };
}

const MAX_RETRY_MS = 60_000;

function readBody(options: ReadingOptions): Reading {
  const { head, calls, wantsBody = calls.length > 0, maxMessageBytes, listener, take } = options;
  const exchange = bodiesFor(calls);
  const collector = createBodyCollector(maxMessageBytes, options.maxBufferBytes);
  return {
    push: (chunk) => collector.push(chunk),
    isHopeless: () => collector.isHopeless(),
    weight: () => collector.weight(),
    end() {
      const collected = collector.end();
      const { body } = collected;
      // Streamable HTTP, "Sending Messages to the Server" 4: a notification or response is answered with 202 and no
      // body. Some servers send a body all the same, such as null. It is ignored.
      if (!wantsBody && head.status < 300) return null;
      const isJson = kindOf(head) === "json" && body !== null && body.length > 0;
      if (collected.body === null) listener.lost(collected.gist.end(), collected.bytes, exchange);
      if (head.status < 300 && isJson) take(whole(body), exchange);
      else if (calls.length > 0) {
        const error = errorOf(head.status, isJson ? body : null);
        for (const call of calls) if (listener.isWaiting(call)) take(whole(composeErrorText(call.id, error)), exchange);
      } else if (head.status >= 300) listener.trouble("http:refused", `the server answered with status ${head.status}`);
      return null;
    },
    breakOff: () => null,
  };
}

/** The JSON text of the error in a refusal's body, or of one composed from its status. */
function errorOf(status: number, body: Buffer | null): string {
  const message = body === null ? null : openMessage(whole(body), "down", "allow");
  if (message?.envelope.kind === "error") {
    const { start, end } = message.envelope.error;
    return message.bytes.toString("latin1", start, end);
  }
  return JSON.stringify(status >= 300 ? refusedWith(status) : INVALID);
}
