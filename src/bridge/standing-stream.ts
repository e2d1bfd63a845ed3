import type { UpstreamCall } from "../link/upstream/pool.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import type { Ended } from "./open-stream.ts";
import { DEFAULT_RETRY_MS } from "./response-messages.ts";
import type { StreamableSession } from "./streamable-session.ts";

/** The stream of a session for messages that the server sends without being asked. It is reopened whenever it ends. */
export interface StandingStream {
  open(): void;
  /** Opens it before `notifications/initialized` is sent: some servers send messages right after that. */
  openFirst(): Promise<void>;
  /** Whether the server refused the stream because the handshake was not complete. */
  isTooEarly(): boolean;
  abort(): void;
}

/** Options of a standing stream. */
export interface StandingStreamOptions {
  readonly session: StreamableSession;
  readonly permit: (head: ResponseHead, shown: string) => Promise<boolean>;
  readonly isOver: () => boolean;
  /** Sends the GET request for a stream, with the id of the last event if there was one. */
  readonly get: (lastId: string | null, done: Ended, onAnswer: (() => void) | null) => UpstreamCall;
}

/** Makes a stream that is not open yet. */
export function createStandingStream({ session, permit, isOver, get }: StandingStreamOptions): StandingStream {
  let current: UpstreamCall | null = null;
  let isTooEarly = false;

  function listen(lastId: string | null, failures: number, wasOpen: boolean, onAnswer: (() => void) | null): void {
    const ended: Ended = (events, status, refusal) => {
      if (current !== stream) return; // another stream has replaced it
      current = null;
      isTooEarly = status !== null && status >= 400 && status !== 405;
      if (isOver()) return;
      if (status === 404 && wasOpen) return void session.renew();
      if (refusal !== null && status === 401 && failures === 0) {
        return void permit(refusal.head, refusal.shown).then(
          (isWorthIt) => isWorthIt && !isOver() && listen(lastId, 1, wasOpen, null),
          () => {}, // the next request will report the failure
        );
      }
      const isRefused = status === null || status >= 300;
      // A server need not offer this stream.
      if ((status !== null && status >= 400) || failures > MAX_FAILURES) return;
      const wait = Math.max(events?.retryMs ?? DEFAULT_RETRY_MS, isRefused ? 2 ** failures * 1000 : 0);
      setTimeout(() => {
        if (!isOver() && current === null)
          listen(events?.lastId ?? lastId, isRefused ? failures + 1 : 0, !isRefused || wasOpen, null);
      }, wait).unref();
    };
    const stream = get(lastId, ended, onAnswer);
    current = stream;
  }

  return {
    open: () => listen(null, 0, false, null),
    openFirst: () =>
      new Promise((resolve) => {
        listen(null, 0, false, resolve);
        setTimeout(resolve, OPEN_FIRST_MS).unref();
      }),
    isTooEarly: () => isTooEarly,
    abort() {
      current?.abort();
      current = null;
    },
  };
}

const MAX_FAILURES = 5;
/** How long the stream may take to open before the handshake continues without it. */
const OPEN_FIRST_MS = 500;
