import type { Address } from "../link/upstream/address.ts";
import { headerOf } from "../link/upstream/head.ts";
import type { Login } from "../login/login.ts";
import type { ResponseHead } from "../wire/http-head.ts";

/** The authorization for a server, if the proxy logs in itself. */
export interface Permission {
  /** The Authorization header line; empty if there is none. */
  line(): string;
  /** Loads the token of an earlier login. */
  recall(): Promise<void>;
  /** Call when the server refused a request that carried `line`. Resolves to true if the request should be retried. */
  ask(head: ResponseHead, line: string): Promise<boolean>;
  /** Refreshes the token if it is about to expire. */
  renew(): Promise<void> | null;
}

/** How often to check whether a token is about to expire. */
const CHECK_MS = 10_000;

function tokenIn(line: string): string | null {
  return /^Authorization: Bearer (.*)\r$/m.exec(line)?.[1] ?? null;
}

/** How long the user has to log in. */
const LOGIN_MS = 300_000;

/** Makes the authorization for one server. Without a directory the proxy does not log in, and a refusal is final. */
export function createPermission(address: Address, directory: string | null): Permission {
  let token: string | null = null;
  let login: Promise<Login> | null = null;
  let checkedAt = 0;

  async function load(): Promise<Login> {
    const { createLogin } = await import("../login/login.ts");
    const { openBrowser } = await import("../login/browser.ts");
    return createLogin({
      server: `${address.origin}${address.path}`,
      directory: directory ?? "",
      openBrowser,
      // Written as is, not as a log line, because the user has to read and copy it.
      say: (text) => void process.stderr.write(`${text}\n`),
      timeoutMs: LOGIN_MS,
    });
  }

  return {
    line: () => (token === null ? "" : `Authorization: Bearer ${token}\r\n`),
    async recall() {
      if (directory === null) return;
      const { hasLogin } = await import("./logins.ts");
      if (!hasLogin(directory)) return;
      login ??= load();
      token = await (await login).token();
    },
    renew() {
      if (token === null || login === null || Date.now() < checkedAt + CHECK_MS) return null;
      checkedAt = Date.now();
      return login
        .then((made) => made.token())
        .then(
          (current) => void (token = current),
          () => {}, // the server will refuse the request
        );
    },
    async ask(head, line) {
      if (directory === null) return false;
      if (head.status === 403 && !/insufficient_scope/.test(headerOf(head, "www-authenticate") ?? "")) return false;
      login ??= load();
      token = await (await login).answer(headerOf(head, "www-authenticate"), tokenIn(line));
      return true;
    },
  };
}
