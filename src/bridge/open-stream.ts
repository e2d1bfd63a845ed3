import { answerMemory, countIn } from "../link/memory.ts";
import type { Pool, UpstreamCall } from "../link/upstream/pool.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { readResponse, type Reading } from "./response-messages.ts";
import type { Call } from "../session/call.ts";
import { type Brake, createBrake } from "./brake.ts";
import type { ServerListener } from "./server-end.ts";
import type { StreamableSession } from "./streamable-session.ts";

/** What a stream of a server's is opened with. */
export interface StreamOptions {
  readonly pool: Pool;
  readonly path: string;
  readonly session: StreamableSession;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  /** Bytes of a message that is too large after which it is given up, also where it has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** The event to go on after, where a stream is resumed. */
  readonly lastId: string | null;
  /** The calls that a resumed stream should answer. */
  readonly calls: readonly Call[];
  /** Told when the server has answered, one way or the other. */
  readonly onAnswer: (() => void) | null;
}

/** Hears of the end of a stream: how far it came, and how it was answered. */
export type Ended = (
  events: Resumable | null,
  status: number | null,
  refusal: { readonly head: ResponseHead; readonly shown: string } | null,
) => void;

/** What is known of a stream that ended. */
export interface Resumable {
  readonly lastId: string | undefined;
  readonly retryMs: number;
}

/** Opens a stream of a server's by GET. What comes is for the listener. */
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
    end(reading?.breakOff() ?? null); // as if the server had broken it off
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

/** Stops reading as long as what was read cannot leave. */
export function holdBack(brake: Brake, listener: ServerListener): void {
  if (!listener.isFull) return;
  brake.pause();
  listener.whenReady(() => brake.resume());
}
