import type { Address } from "../link/upstream/address.ts";
import { headerOf } from "../link/upstream/head.ts";
import type { Login } from "../login/login.ts";
import type { ResponseHead } from "../wire/http-head.ts";

/** What a server wants to see before it lets us in, where we log in ourselves. */
export interface Permission {
  /** The header line that shows it; empty where there is none. */
  line(): string;
  /** Takes up what an earlier login left. */
  recall(): Promise<void>;
  /** The server refused a request that showed `line`. Resolves when it is worth trying again; false where it is not. */
  ask(head: ResponseHead, line: string): Promise<boolean>;
  /** Makes sure that what is shown has not run out. */
  renew(): Promise<void> | null;
}

/** How often we look whether a token is about to run out. */
const CHECK_MS = 10_000;

function tokenIn(line: string): string | null {
  return /^Authorization: Bearer (.*)\r$/m.exec(line)?.[1] ?? null;
}

/** How long a person has to log in. */
const LOGIN_MS = 300_000;

/** Keeps permission for one server. Without a directory nobody logs in here: a refusal is a refusal. */
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
      // A person has to read and copy it: as it is, not as a line of a log.
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
          () => {}, // the server will say so
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
