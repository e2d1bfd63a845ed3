import { LOWER_HEADERS } from "../message/protocol.ts";
import { ConnectionError } from "../errors.ts";
import { answerMemory, countIn } from "../link/memory.ts";
import type { Pool, UpstreamCall } from "../link/upstream/pool.ts";
import { headerOf } from "../link/upstream/head.ts";
import { findMember, readString } from "../message/members.ts";
import { type Message, openMessage, type Payload } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { CLOSED, failureOf, refusedWith } from "./answers.ts";
import { createBrake } from "./brake.ts";
import { cancelledId } from "./cancelled.ts";
import { mirrorHeaders, type SchemaReader } from "./mirror.ts";
import { readResponse, type Reading } from "./response-messages.ts";
import { answerInstead, answersNothing, type ServerEnd, type ServerListener } from "./server-end.ts";
import { type Ended, holdBack, openStream, type Resumable } from "./open-stream.ts";
import { createStandingStream } from "./standing-stream.ts";
import { BOTH, createStreamableSession, isReady } from "./streamable-session.ts";
import { createTurnstile } from "./turnstile.ts";

/** Options of a Streamable HTTP session. */
export interface StreamableOptions {
  readonly pool: Pool;
  readonly path: string;
  /** Header lines of every request: those that the user configured, and authorization if there is any. */
  readonly headers: () => string;
  /**
   * Called when the server refuses a request for lack of authorization. Resolves to true if the request should be
   * retried.
   */
  readonly permit: (head: ResponseHead, shown: string) => Promise<boolean>;
  /** Renews the authorization if it is about to expire; null if there is nothing to wait for. */
  readonly renew?: () => Promise<void> | null;
  readonly schemaOf: SchemaReader;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** Whether a standing stream is opened for messages that the server sends without being asked. */
  readonly listens: boolean;
  /** Called with the head or the failure of each request. */
  readonly watch?: { head(head: ResponseHead): void; failed(error: ConnectionError): void };
}

let counter = 0;

/** Makes a session with a server that uses Streamable HTTP. */
export function createStreamableEnd(options: StreamableOptions): ServerEnd {
  const { pool, path, listener, maxMessageBytes, maxBufferBytes } = options;
  let isOver = false;
  const client = `session:${++counter}`;
  const turnstile = createTurnstile();
  const running = new Map<Message, UpstreamCall>();
  const streams = new Set<UpstreamCall>();
  const session = createStreamableSession({
    ...options,
    onLost() {
      standing.abort();
      listener.trouble("http:session-lost", "the server no longer knows the session: starting another one");
    },
    onRenewed() {
      if (options.listens && !isOver) standing.open();
    },
  });
  const standing = createStandingStream({
    session,
    permit: (head, shown) => options.permit(head, shown),
    isOver: () => isOver,
    get: (lastId, done, onAnswer) => get(lastId, [], done, onAnswer),
  });

  function send(payload: Buffer, about: Message, calls: readonly Call[]): void {
    if (answersNothing(about)) return;
    turnstile.enter(payload.length, (taken) => {
      if (isOver) return;
      const { envelope } = about;
      const method = "method" in envelope ? envelope.method.name : null;
      session.note(method, payload);
      if (method === "notifications/cancelled" && withdraw(about)) return taken();
      // Later messages wait until a message without a response, or `initialize`, has been accepted. Except for
      // `initialize`, they wait only for a limited time.
      const isBarrier = calls.length === 0 || method === "initialize";
      if (isBarrier && method !== "initialize") setTimeout(taken, TAKEN_MS).unref();
      const isLast = method === "notifications/initialized" && options.listens;
      const renewal = session.renewing ?? options.renew?.() ?? null;
      const go = (): void => post(payload, about, calls, 0, isBarrier ? taken : () => {});
      const begin = isLast ? () => void standing.openFirst().then(go) : go;
      if (renewal === null) begin();
      else void renewal.then(begin);
      if (!isBarrier) taken();
    });
  }

  /** In the stateless era a request is cancelled by closing its connection. */
  function withdraw(cancellation: Message): boolean {
    const spelled = cancelledId(cancellation);
    for (const [about, call] of running) {
      const { envelope: asked } = about;
      if (asked.kind !== "request" || (asked.id.quoted ?? String(asked.id.key)) !== spelled) continue;
      if (mirrorHeaders(about, options.schemaOf) === null) return false;
      running.delete(about);
      call.abort();
      return true;
    }
    return false;
  }

  function post(payload: Buffer, about: Message, calls: readonly Call[], attempt: number, taken: () => void): void {
    const { envelope } = about;
    const mirrored = mirrorHeaders(about, options.schemaOf);
    const headers = `Content-Type: application/json\r\n${session.common(BOTH)}${mirrored ?? session.versionLine()}`;
    let reading: Reading | null = null;
    const shownId = session.id;
    const brake = createBrake({ pause: () => call.pause(), resume: () => call.resume() });
    const left = turnstile.leaving(payload.length);
    const settle = (): void => {
      left();
      claim.release();
    };
    const abort = (): void => {
      settle();
      call.abort();
    };
    const cut = (): void => {
      abort();
      fail(about, calls, NO_MEMORY);
      taken();
    };
    const claim = countIn(answerMemory, { ...brake, cut });
    const call = pool.send(
      { method: "POST", path, headers, body: payload, client, onSent: left },
      {
        head(head) {
          options.watch?.head(head);
          if ((head.status === 401 || head.status === 403) && attempt === 0) {
            running.delete(about);
            abort();
            void options.permit(head, headers).then(
              (isWorthIt) => {
                if (isWorthIt) post(payload, about, calls, 1, taken);
                else finish(head, null);
              },
              (error: unknown) => {
                listener.trouble("http:login", error instanceof Error ? error.message : String(error));
                finish(head, null);
              },
            );
            return;
          }
          if (head.status === 404 && shownId !== null && attempt < RENEWED && session.canRenew && !isOver) {
            running.delete(about);
            abort();
            // Another request may have noticed first that the session is gone.
            const renewal = session.id === shownId ? session.renew() : (session.renewing ?? Promise.resolve(true));
            return void renewal.then((isRenewed) => {
              // A response is not repeated: it answers a request of the session that is gone.
              if (isRenewed && "method" in envelope) post(payload, about, calls, RENEWED, taken);
              else finish(head, null);
            });
          }
          if (head.status < 300) session.id ??= headerOf(head, LOWER_HEADERS.session);
          reading = readResponse({
            head,
            calls,
            maxMessageBytes,
            maxBufferBytes,
            listener,
            take(body, exchange) {
              take(body, about, exchange);
              if (!calls.some(isWaiting)) taken();
            },
          });
        },
        body(bytes) {
          reading?.push(bytes);
          claim.weigh(reading?.weight() ?? 0);
          holdBack(brake, listener);
          if (reading?.isHopeless() !== true) return;
          abort();
          finish(null, reading.end());
        },
        done() {
          settle();
          finish(null, reading?.end() ?? null);
        },
        failed(error) {
          settle();
          const events = reading?.breakOff() ?? null;
          if (events?.lastId !== undefined && calls.every(({ era }) => era === "stateful")) return finish(null, events);
          fail(about, calls, error);
          taken();
        },
      },
    );
    if (envelope.kind === "request") running.set(about, { ...call, abort });

    function finish(refusal: ResponseHead | null, events: Resumable | null): void {
      running.delete(about);
      if (refusal !== null) answerInstead(listener, calls, refusedWith(refusal.status), false);
      else if (calls.some(isWaiting)) {
        // 2026-07-28 has no resumption: the responses of a broken stream are lost.
        const isResumable = calls.every(({ era }) => era === "stateful");
        if (events !== null && events.lastId !== undefined && isResumable) resume(calls, events, 0);
        else answerInstead(listener, calls, CLOSED, true);
      }
      // The server may have refused the stream until it received this notification.
      if (options.listens && isReady(about) && standing.isTooEarly() && !isOver) standing.open();
      taken();
    }
  }

  function isWaiting(call: Call): boolean {
    return listener.isWaiting(call);
  }

  function fail(about: Message, calls: readonly Call[], error: ConnectionError): void {
    running.delete(about);
    if (isOver) return;
    options.watch?.failed(error);
    listener.trouble("http:connection", error.internalDetails);
    answerInstead(listener, calls, failureOf(error).error, true);
  }

  function take(payload: Payload, about: Message | null, exchange: Exchange): void {
    if (session.version === null && about?.envelope.kind === "request" && about.envelope.method.name === "initialize") {
      const { bytes, envelope } = openMessage(payload, "down", "allow");
      if (envelope.kind === "result") {
        const spoken = readString(bytes, findMember(bytes, envelope.result, "protocolVersion"));
        if (spoken !== null && /^[\x21-\x7e]{1,64}$/.test(spoken)) session.version = spoken;
      }
    }
    listener.message(payload, exchange);
  }

  /** Resumes a stream after it broke, until its calls are answered. */
  function resume(calls: readonly Call[], { lastId, retryMs }: Resumable, failures: number): void {
    const timer = setTimeout(() => {
      if (isOver || !calls.some(isWaiting)) return;
      get(lastId ?? null, calls, (events, status) => {
        if (!calls.some(isWaiting)) return;
        const next = { lastId: events?.lastId ?? lastId, retryMs: events?.retryMs ?? retryMs };
        const isRefused = status === null || status >= 300;
        if (failures < MAX_FAILURES) resume(calls, next, isRefused ? failures + 1 : 0);
        else answerInstead(listener, calls, CLOSED, true);
      });
    }, retryMs);
    timer.unref();
  }

  function get(
    lastId: string | null,
    calls: readonly Call[],
    done: Ended,
    onAnswer: (() => void) | null = null,
  ): UpstreamCall {
    const call = openStream(
      { pool, path, session, listener, maxMessageBytes, maxBufferBytes, lastId, calls, onAnswer },
      (...how) => {
        streams.delete(call);
        done(...how);
      },
    );
    streams.add(call);
    return call;
  }

  function leave(): void {
    isOver = true;
    for (const call of [...running.values(), ...streams]) call.abort();
  }

  return {
    send,
    get isFull() {
      return turnstile.isFull;
    },
    whenReady: (go) => turnstile.whenReady(go),
    async close() {
      if (isOver) return;
      leave();
      await session.end();
    },
    destroy: leave,
  };
}

const MAX_FAILURES = 5;
/** How long later messages wait until the server has accepted a message without a response. */
const TAKEN_MS = 5000;
const NO_MEMORY = new ConnectionError("NO_ROOM", "Connection lost", "no memory for a response that did not go on");
/** Number of the attempt in a renewed session. It is the last one. */
const RENEWED = 2;
