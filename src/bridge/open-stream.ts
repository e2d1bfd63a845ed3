import { answerMemory, countIn } from "../link/memory.ts";
import type { Pool, UpstreamCall } from "../link/upstream/pool.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { readResponse, type Reading } from "./response-messages.ts";
import type { Call } from "../session/call.ts";
import { type Brake, createBrake } from "./brake.ts";
import type { ServerListener } from "./server-end.ts";
import type { StreamableSession } from "./streamable-session.ts";

/** Options for opening a stream from the server. */
export interface StreamOptions {
  readonly pool: Pool;
  readonly path: string;
  readonly session: StreamableSession;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** The id of the last event received, if a stream is resumed. */
  readonly lastId: string | null;
  /** The calls that a resumed stream should answer. */
  readonly calls: readonly Call[];
  /** Called when the server has responded, or the request has failed. */
  readonly onAnswer: (() => void) | null;
}

/** Called at the end of a stream with how far it came and how the request was answered. */
export type Ended = (
  events: Resumable | null,
  status: number | null,
  refusal: { readonly head: ResponseHead; readonly shown: string } | null,
) => void;

/** What is known about a stream that ended. */
export interface Resumable {
  readonly lastId: string | undefined;
  readonly retryMs: number;
}

/** Opens a stream from the server by GET. Its messages go to the listener. */
export function openStream(options: StreamOptions, done: Ended): UpstreamCall {
  const { pool, path, session, listener, maxMessageBytes, maxBufferBytes, lastId, calls, onAnswer } = options;
  const from = lastId === null || !/^[\t\x20-\x7e\x80-\xff]*$/.test(lastId) ? "" : `Last-Event-ID: ${lastId}\r\n`;
  const headers = session.common("text/event-stream") + session.versionLine() + from;
  let reading: Reading | null = null;
  let status: number | null = null;
  let refusal: { head: ResponseHead; shown: string } | null = null;
  const brake = createBrake({ pause: () => call.pause(), resume: () => call.resume() });
  const cut = (): void => {
    claim.release();
    call.abort();
    end(reading?.breakOff() ?? null); // as if the server had closed the stream
  };
  const claim = countIn(answerMemory, { ...brake, cut });
  const end = (events: Resumable | null): void => {
    onAnswer?.();
    done(events, status, refusal);
  };
  const call = pool.send(
    { method: "GET", path, headers, body: null },
    {
      head(head) {
        ({ status } = head);
        if (status >= 300) refusal = { head, shown: headers };
        else {
          const take: ServerListener["message"] = (body, exchange) => listener.message(body, exchange);
          reading = readResponse({ head, calls, maxMessageBytes, maxBufferBytes, listener, take });
        }
        onAnswer?.();
      },
      body(bytes) {
        reading?.push(bytes);
        if (reading?.isHopeless() === true) return cut();
        claim.weigh(reading?.weight() ?? 0);
        holdBack(brake, listener);
      },
      done() {
        claim.release();
        end(reading?.end() ?? null);
      },
      failed() {
        claim.release();
        end(reading?.breakOff() ?? null);
      },
    },
  );
  return {
    ...call,
    abort() {
      claim.release();
      call.abort();
    },
  };
}

/** Pauses reading while the listener is full. */
export function holdBack(brake: Brake, listener: ServerListener): void {
  if (!listener.isFull) return;
  brake.pause();
  listener.whenReady(() => brake.resume());
}
