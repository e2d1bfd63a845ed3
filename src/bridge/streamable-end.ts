import type { ConnectionError } from "../errors.ts";
import type { Pool, UpstreamCall } from "../link/upstream/pool.ts";
import { headerOf } from "../link/upstream/head.ts";
import { composeError } from "../message/compose.ts";
import { findMember, readString } from "../message/members.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Exchange } from "../session/exchange.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { CLOSED } from "./answers.ts";
import { mirrorHeaders, type SchemaReader } from "./mirror.ts";
import { readResponse, type Reading } from "./response-messages.ts";
import { BODIES, RESUMED, type ServerEnd, type ServerListener } from "./server-end.ts";

/** What a session of Streamable HTTP is made of. */
export interface StreamableOptions {
  readonly pool: Pool;
  readonly path: string;
  /** Header lines of every request: what the user wants sent, and permission where there is one. */
  readonly headers: () => string;
  /** Asked when the server refuses for want of permission. Resolves when it is worth trying again; false where it is not. */
  readonly permit: (head: ResponseHead, shown: string) => Promise<boolean>;
  /** Renews the permission where it is about to run out; null where there is nothing to wait for. */
  readonly renew?: () => Promise<void> | null;
  readonly schemaOf: SchemaReader;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  /** Whether a stream of its own is opened for what the server says unasked. */
  readonly listens: boolean;
  /** Hears how each request of ours went, beside what came of it. */
  readonly watch?: { head(head: ResponseHead): void; failed(error: ConnectionError): void };
}

/** A session at a server that speaks Streamable HTTP. */
export function createStreamableEnd(options: StreamableOptions): ServerEnd {
  const { pool, path, listener, maxMessageBytes } = options;
  let sessionId: string | null = null;
  let version: string | null = null;
  let isOver = false;
  let held: (() => void)[] | null = null; // while the server is being greeted
  const running = new Map<Message, UpstreamCall>();
  let standing: UpstreamCall | null = null;

  function common(accept: string): string {
    return (
      `Accept: ${accept}\r\nAccept-Encoding: identity\r\n${options.headers()}` +
      (sessionId === null ? "" : `Mcp-Session-Id: ${sessionId}\r\n`)
    );
  }

  function versionLine(): string {
    return version === null ? "" : `MCP-Protocol-Version: ${version}\r\n`;
  }

  function send(payload: Buffer, about: Message): void {
    if (isOver) return;
    if (held !== null) return void held.push(() => send(payload, about));
    const { envelope } = about;
    const isGreeting = envelope.kind === "request" && envelope.method.name === "initialize";
    const isReady = envelope.kind === "notification" && envelope.method.name === "notifications/initialized";
    if (isGreeting || isReady) held = [];
    if (envelope.kind === "notification" && envelope.method.name === "notifications/cancelled" && withdraw(about))
      return;
    const renewal = options.renew?.() ?? null;
    if (renewal === null) post(payload, about, 0);
    else void renewal.then(() => post(payload, about, 0));
  }

  /** In the stateless era a request is cancelled by leaving it. */
  function withdraw({ bytes, envelope }: Message): boolean {
    if (envelope.kind !== "notification" || envelope.params === null) return false;
    const id = findMember(bytes, envelope.params, "requestId");
    if (id === null) return false;
    const spelled = bytes.toString("latin1", id.start, id.end);
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

  function release(): void {
    const waiting = held ?? [];
    held = null;
    for (const next of waiting) next();
  }

  function post(payload: Buffer, about: Message, attempt: number): void {
    const { envelope } = about;
    const mirrored = mirrorHeaders(about, options.schemaOf);
    const headers = `Content-Type: application/json\r\n${common(BOTH)}${mirrored ?? versionLine()}`;
    let reading: Reading | null = null;
    const call = pool.send(
      { method: "POST", path, headers, body: payload },
      {
        head(head) {
          options.watch?.head(head);
          if ((head.status === 401 || head.status === 403) && attempt === 0) {
            running.delete(about);
            call.abort();
            void options.permit(head, headers).then(
              (isWorthIt) => {
                if (isWorthIt) post(payload, about, 1);
                else finish(about, head, null);
              },
              (error: unknown) => {
                listener.trouble("http:login", error instanceof Error ? error.message : String(error));
                finish(about, head, null);
              },
            );
            return;
          }
          sessionId ??= head.status < 300 ? headerOf(head, "mcp-session-id") : null;
          reading = readResponse({ head, about, maxMessageBytes, listener, take: (body) => take(body, about, BODIES) });
        },
        body(bytes) {
          reading?.push(bytes);
          hold(call);
        },
        done() {
          const events = reading?.end() ?? null;
          finish(about, null, events);
        },
        failed(error) {
          const events = reading?.end() ?? null;
          if (events?.lastId === undefined) return fail(about, error);
          finish(about, null, events);
        },
      },
    );
    if (envelope.kind === "request") running.set(about, call);

    function finish(done: Message, refusal: ResponseHead | null, events: Resumable | null): void {
      running.delete(done);
      if (refusal !== null)
        answer(done, { code: -32000, message: `The server answered with status ${refusal.status}` });
      else if (events !== null && events.lastId !== undefined && listener.isWaiting(done))
        return resume(done, events, 0);
      else if (listener.isWaiting(done)) answer(done, CLOSED);
      settle(done);
    }
  }

  /** What follows when the server has taken a message. */
  function settle({ envelope }: Message): void {
    if (held === null || !("method" in envelope)) return;
    if (envelope.method.name === "notifications/initialized" && options.listens && !isOver) listen(null, 0);
    if (envelope.method.name === "initialize" || envelope.method.name === "notifications/initialized") release();
  }

  function fail(about: Message, error: ConnectionError): void {
    running.delete(about);
    if (isOver) return;
    options.watch?.failed(error);
    listener.trouble("http:connection", error.internalDetails);
    answer(about, CLOSED);
    settle(about);
  }

  function answer({ envelope }: Message, error: { code: number; message: string }): void {
    if (envelope.kind === "request") listener.message(whole(composeError(envelope.id, error)), BODIES);
    else listener.trouble("http:refused", `the server did not take a message: ${error.message}`);
  }

  function take(payload: Payload, about: Message | null, exchange: Exchange): void {
    if (version === null && about?.envelope.kind === "request" && about.envelope.method.name === "initialize") {
      const { bytes, envelope } = openMessage(payload, "down", "allow");
      if (envelope.kind === "result") {
        const spoken = readString(bytes, findMember(bytes, envelope.result, "protocolVersion"));
        if (spoken !== null && /^[\x21-\x7e]{1,64}$/.test(spoken)) version = spoken;
      }
    }
    listener.message(payload, exchange);
  }

  function hold(call: UpstreamCall): void {
    if (!listener.isFull) return;
    call.pause();
    listener.whenReady(() => call.resume());
  }

  /** Takes a stream up where it broke off, until the request it belongs to is answered. */
  function resume(about: Message, { lastId, retryMs }: Resumable, failures: number): void {
    const timer = setTimeout(() => {
      if (isOver || !listener.isWaiting(about)) return settle(about);
      get(lastId ?? null, (events, status) => {
        const next = { lastId: events?.lastId ?? lastId, retryMs: events?.retryMs ?? retryMs };
        const isRefused = status === null || status >= 300;
        if (listener.isWaiting(about) && failures < MAX_FAILURES) resume(about, next, isRefused ? failures + 1 : 0);
        else {
          if (listener.isWaiting(about)) answer(about, CLOSED);
          settle(about);
        }
      });
    }, retryMs);
    timer.unref();
  }

  /** A stream for what the server says unasked, opened again when it ends. */
  function listen(lastId: string | null, failures: number): void {
    standing = get(lastId, (events, status) => {
      standing = null;
      const isRefused = status === null || status >= 300;
      // A server may have no such stream.
      if (isOver || (status !== null && status >= 400) || failures > MAX_FAILURES) return;
      const wait = Math.max(events?.retryMs ?? DEFAULT_RETRY_MS, isRefused ? 2 ** failures * 1000 : 0);
      setTimeout(() => {
        if (!isOver) listen(events?.lastId ?? lastId, isRefused ? failures + 1 : 0);
      }, wait).unref();
    });
  }

  function get(lastId: string | null, done: (events: Resumable | null, status: number | null) => void): UpstreamCall {
    const from = lastId === null || !/^[\t\x20-\x7e\x80-\xff]*$/.test(lastId) ? "" : `Last-Event-ID: ${lastId}\r\n`;
    const exchange = lastId === null ? BODIES : RESUMED;
    let reading: Reading | null = null;
    let status: number | null = null;
    const call = pool.send(
      { method: "GET", path, headers: common("text/event-stream") + versionLine() + from, body: null },
      {
        head(head) {
          ({ status } = head);
          if (status >= 300) return;
          reading = readResponse({
            head,
            about: null,
            maxMessageBytes,
            listener,
            take: (body) => take(body, null, exchange),
          });
        },
        body(bytes) {
          reading?.push(bytes);
          hold(call);
        },
        done: () => done(reading?.end() ?? null, status),
        failed: () => done(reading?.end() ?? null, status),
      },
    );
    return call;
  }

  return {
    send,
    isFull: false, // every request has a connection of its own
    whenReady: (go) => go(),
    async close() {
      if (isOver) return;
      isOver = true;
      for (const call of running.values()) call.abort();
      standing?.abort();
      if (sessionId === null) return;
      await new Promise<void>((resolve) => {
        const end = (): void => resolve();
        const call = pool.send(
          { method: "DELETE", path, headers: common(BOTH) + versionLine(), body: null },
          { head: end, body: () => {}, done: end, failed: end },
        );
        setTimeout(() => {
          call.abort();
          end();
        }, GOODBYE_MS).unref();
      });
    },
    destroy() {
      isOver = true;
      for (const call of running.values()) call.abort();
      standing?.abort();
    },
  };
}

/** What is known of a stream that ended. */
interface Resumable {
  readonly lastId: string | undefined;
  readonly retryMs: number;
}

const BOTH = "application/json, text/event-stream";
const DEFAULT_RETRY_MS = 1000;
const MAX_FAILURES = 5;
const GOODBYE_MS = 1000;
