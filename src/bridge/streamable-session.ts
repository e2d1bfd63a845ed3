import { HEADERS, LOWER_HEADERS } from "../message/protocol.ts";
import type { Pool } from "../link/upstream/pool.ts";
import { headerOf } from "../link/upstream/head.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import { readResponse, type Reading } from "./response-messages.ts";
import type { ServerListener } from "./server-end.ts";

/** The state of a Streamable HTTP session, and how to renew it. */
export interface StreamableSession {
  /** The session id that the server assigned; null if there is none. */
  id: string | null;
  /** The negotiated protocol revision, once it is known. */
  version: string | null;
  /** Header lines of every request. */
  common(accept: string): string;
  versionLine(): string;
  /** Keeps the client's handshake messages, so that they can be repeated if the server loses the session. */
  note(method: string | null, payload: Buffer): void;
  readonly canRenew: boolean;
  /** The renewal in progress, if there is one. */
  readonly renewing: Promise<boolean> | null;
  /** Repeats the handshake with a server that has lost the session: Streamable HTTP, "Session Management" 4. */
  renew(): Promise<boolean>;
  /** Asks the server to end the session, if it has one. Resolves when the server has responded, or after a timeout. */
  end(): Promise<void>;
}

/** Options of a session. */
export interface StreamableSessionOptions {
  readonly pool: Pool;
  readonly path: string;
  readonly headers: () => string;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  readonly onLost: () => void;
  readonly onRenewed: () => void;
}

/** The content types that the proxy accepts. */
export const BOTH = "application/json, text/event-stream";

const RENEW_MS = 30_000;
const GOODBYE_MS = 1000;

/** Makes a session that has not begun. */
export function createStreamableSession(options: StreamableSessionOptions): StreamableSession {
  const { pool, path, headers, listener, maxMessageBytes, onLost, onRenewed } = options;
  let greeting: Message | null = null;
  let ready: Message | null = null;
  let renewing: Promise<boolean> | null = null;

  const session: StreamableSession = {
    id: null,
    version: null,
    common(accept) {
      const own = session.id === null ? "" : `${HEADERS.session}: ${session.id}\r\n`;
      return `Accept: ${accept}\r\nAccept-Encoding: identity\r\n${headers()}${own}`;
    },
    versionLine: () => (session.version === null ? "" : `${HEADERS.version}: ${session.version}\r\n`),
    note(method, payload) {
      if (method !== "initialize" && method !== "notifications/initialized") return;
      // a copy, because the payload is part of a larger buffer
      const message = openMessage(whole(Buffer.from(payload)), "up", "allow");
      if (method === "initialize") greeting = message;
      else ready = message;
    },
    get canRenew() {
      return greeting !== null;
    },
    get renewing() {
      return renewing;
    },
    renew() {
      renewing ??= begin().finally(() => (renewing = null));
      return renewing;
    },
    end() {
      if (session.id === null) return Promise.resolve();
      return new Promise((resolve) => {
        const end = (): void => resolve();
        const call = pool.send(
          { method: "DELETE", path, headers: session.common(BOTH) + session.versionLine(), body: null },
          { head: end, body: () => {}, done: end, failed: end },
        );
        setTimeout(() => {
          call.abort();
          end();
        }, GOODBYE_MS).unref();
      });
    },
  };
  return session;

  async function begin(): Promise<boolean> {
    if (greeting === null) return false;
    session.id = null;
    onLost();
    if (!(await repeat(greeting))) return false;
    if (ready !== null && (await repeat(ready))) onRenewed();
    return true;
  }

  /** Repeats one of the client's handshake messages. The response is not forwarded to the client. */
  function repeat(about: Message): Promise<boolean> {
    return new Promise((resolve) => {
      let reading: Reading | null = null;
      let isGood = about.envelope.kind !== "request";
      const quiet: ServerListener = {
        ...listener,
        message: () => {},
        lost: () => {},
        trouble: () => {},
        isFull: false,
      };
      const calls: readonly Call[] = []; // the client got its response when the session first began
      const take = (body: Payload): void => {
        isGood = openMessage(body, "down", "allow").envelope.kind === "result";
      };
      const version = isReady(about) ? session.versionLine() : "";
      const lines = `Content-Type: application/json\r\n${session.common(BOTH)}${version}`;
      const call = pool.send(
        { method: "POST", path, headers: lines, body: about.bytes },
        {
          head(head) {
            if (head.status < 300) session.id ??= headerOf(head, LOWER_HEADERS.session);
            else isGood = false;
            reading = readResponse({ head, calls, wantsBody: true, maxMessageBytes, listener: quiet, take });
          },
          body: (bytes) => reading?.push(bytes),
          done() {
            reading?.end();
            resolve(isGood);
          },
          failed: () => resolve(false),
        },
      );
      setTimeout(() => {
        call.abort();
        resolve(false);
      }, RENEW_MS).unref();
    });
  }
}

/** Whether a message is the client's last message of the handshake. */
export function isReady({ envelope }: Message): boolean {
  return envelope.kind === "notification" && envelope.method.name === "notifications/initialized";
}
