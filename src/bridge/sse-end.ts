import { ConnectionError } from "../errors.ts";
import type { Address } from "../link/upstream/address.ts";
import { answerMemory, countIn } from "../link/memory.ts";
import { kindOf } from "../link/upstream/head.ts";
import type { Pool, UpstreamCall } from "../link/upstream/pool.ts";
import type { WireError } from "../message/compose.ts";
import { createExcess } from "../message/gist.ts";
import type { Message } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import { pickData } from "../wire/event-fields.ts";
import { createEventFramer } from "../wire/events.ts";
import { failureOf, refusedWith } from "./answers.ts";
import { answerInstead, answersNothing, BODIES, type ServerEnd, type ServerListener } from "./server-end.ts";
import { createBrake } from "./brake.ts";
import { holdBack } from "./open-stream.ts";
import { createTurnstile } from "./turnstile.ts";

/** Options of an HTTP+SSE session. */
export interface SseOptions {
  readonly pool: Pool;
  readonly address: Address;
  readonly headers: () => string;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** Called when the server's stream has ended, and with it the session. */
  readonly onEnd: () => void;
}

let counter = 0;

/** Opens a session with a server that uses the HTTP+SSE transport of 2024-11-05. Rejects if the server does not. */
export function openSseEnd(options: SseOptions): Promise<ServerEnd> {
  const { pool, address, headers, listener, maxMessageBytes, maxBufferBytes, onEnd } = options;
  let endpoint: string | null = null;
  let isOver = false;
  const client = `session:${++counter}`;
  const posts = new Set<UpstreamCall>();
  const turnstile = createTurnstile();

  function answer(calls: readonly Call[], error: WireError): void {
    if (!isOver) answerInstead(listener, calls, error, true);
  }

  return new Promise((resolve, reject) => {
    const end = (detail: string): void => {
      if (endpoint === null) {
        stream.abort();
        reject(new ConnectionError("INVALID_RESPONSE", "Invalid response: no event stream", detail));
      } else if (!isOver) {
        isOver = true;
        onEnd();
      }
    };

    const framer = createEventFramer(maxMessageBytes, {
      event({ name, data }) {
        if (data === null) return;
        if (name === "endpoint") {
          // Only the first endpoint event counts, and it must be on the server's own origin: it decides where messages
          // and tokens are sent.
          if (endpoint !== null) return listener.trouble("sse:second-endpoint", "ignored a second endpoint event");
          endpoint = pathOf(data.bytes.toString("utf8", data.start, data.end), address);
          if (endpoint === null) return end("an endpoint of another origin");
          return resolve(server);
        }
        if (endpoint !== null) listener.message(data, BODIES);
      },
      excess: createExcess((gist, bytes) => listener.lost(gist, bytes, BODIES), maxBufferBytes, pickData),
      tail: () => {},
    });

    const brake = createBrake({ pause: () => stream.pause(), resume: () => stream.resume() });
    const cut = (): void => {
      destroy();
      onEnd();
    };
    const claim = countIn(answerMemory, { ...brake, cut });
    const stream = pool.send(
      {
        method: "GET",
        path: address.path,
        headers: `Accept: text/event-stream\r\nAccept-Encoding: identity\r\n${headers()}`,
        body: null,
      },
      {
        head(head) {
          if (head.status !== 200 || kindOf(head) !== "events") end(`status ${head.status}`);
        },
        body(bytes) {
          framer.push(bytes);
          claim.weigh(framer.weight());
          holdBack(brake, listener);
        },
        done() {
          claim.release();
          end("the stream ended");
        },
        failed(error) {
          claim.release();
          end(error.internalDetails);
        },
      },
    );

    function send(payload: Buffer, about: Message, calls: readonly Call[]): void {
      if (answersNothing(about)) return;
      turnstile.enter(payload.length, (taken) => {
        const { envelope } = about;
        const isBarrier = envelope.kind !== "request" || envelope.method.name === "initialize";
        if (isBarrier) setTimeout(taken, TAKEN_MS).unref();
        post(payload, calls, isBarrier ? taken : () => {});
        if (!isBarrier) taken();
      });
    }

    function post(payload: Buffer, calls: readonly Call[], taken: () => void): void {
      if (isOver || endpoint === null) return;
      const left = turnstile.leaving(payload.length);
      const call = pool.send(
        {
          method: "POST",
          path: endpoint,
          headers: `Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${headers()}`,
          body: payload,
          client,
          onSent: left,
        },
        {
          head(head) {
            if (head.status >= 300) answer(calls, refusedWith(head.status));
            taken();
          },
          body: () => {},
          done() {
            left();
            posts.delete(call);
          },
          failed(error) {
            left();
            posts.delete(call);
            answer(calls, failureOf(error).error);
            taken();
          },
        },
      );
      posts.add(call);
    }

    const destroy = (): void => {
      isOver = true;
      claim.release();
      stream.abort();
      for (const call of posts) call.abort();
    };
    const server: ServerEnd = {
      send,
      get isFull() {
        return turnstile.isFull;
      },
      whenReady: (go) => turnstile.whenReady(go),
      close: async () => destroy(),
      destroy,
    };
  });
}

/** How long later messages wait until the server has accepted this one. */
const TAKEN_MS = 5000;

/** The path in an endpoint event; null if it is not on the server's own origin. */
export function pathOf(text: string, address: Address): string | null {
  try {
    const url = new URL(text, `${address.origin}${address.path}`);
    return url.origin === address.origin && url.username === "" ? `${url.pathname}${url.search}` : null;
  } catch {
    return null;
  }
}
