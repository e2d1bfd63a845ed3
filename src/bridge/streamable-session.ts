import { HEADERS, LOWER_HEADERS } from "../message/protocol.ts";
import type { Pool } from "../link/upstream/pool.ts";
import { headerOf } from "../link/upstream/head.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import { readResponse, type Reading } from "./response-messages.ts";
import type { ServerListener } from "./server-end.ts";

/** What a server knows us by, and how it came to. */
export interface StreamableSession {
  /** The server's name for the session; null where it has none. */
  id: string | null;
  /** The revision it is spoken in, once that is settled. */
  version: string | null;
  /** Header lines of every request. */
  common(accept: string): string;
  versionLine(): string;
  /** Remembers what the client says to begin with, should the server forget it. */
  note(method: string | null, payload: Buffer): void;
  readonly canRenew: boolean;
  /** While it is begun anew. */
  readonly renewing: Promise<boolean> | null;
  /** Begins anew with a server that has forgotten the session: Streamable HTTP, "Session Management" 4. */
  renew(): Promise<boolean>;
  /** Asks the server to end the session, where it has one. Resolves when it has answered, or did not in time. */
  end(): Promise<void>;
}

/** What it is made of. */
export interface StreamableSessionOptions {
  readonly pool: Pool;
  readonly path: string;
  readonly headers: () => string;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  readonly onLost: () => void;
  readonly onRenewed: () => void;
}

/** What we can read. */
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
      const message = openMessage(whole(Buffer.from(payload)), "up", "allow"); // a copy: it came with others
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

  /** Says again what the client has said; what comes of it is not for the client. */
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
      const calls: readonly Call[] = []; // whoever asked was answered when the session first began
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

/** Whether a message is the client's last word of the greeting. */
export function isReady({ envelope }: Message): boolean {
  return envelope.kind === "notification" && envelope.method.name === "notifications/initialized";
}
