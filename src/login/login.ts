import { type Challenge, parseChallenge } from "./challenge.ts";
import type { Reach } from "../link/fetch.ts";
import type { Flow } from "./flow.ts";
import { withLock } from "./lock.ts";
import { readEndpoint } from "../link/reach.ts";
import { type Grant, type Memory, openStore, type Store } from "./store.ts";
import { shown } from "../link/trouble.ts";

/** A login to one server, with its tokens. */
export interface Login {
  /** The access token to send, refreshed if it is about to expire; null if the user has not logged in yet. */
  token(): Promise<string | null>;
  /**
   * Called when the server refused a request with 401, or with 403 insufficient_scope: refreshes the token or logs in
   * again. `challenge` is the WWW-Authenticate header, `refused` the token that was refused. Resolves with a token;
   * rejects with a ProxyError if there is none. Concurrent calls share one login.
   */
  answer(challenge: string | null, refused: string | null): Promise<string>;
}

/** Options of a login. */
export interface LoginOptions {
  /** URL of the MCP endpoint. */
  readonly server: string;
  /** The directory for tokens. */
  readonly directory: string;
  readonly openBrowser: (url: string) => void;
  /** Shows a text to the user, on stderr. */
  readonly say: (text: string) => void;
  /** How long the user may take to log in. */
  readonly timeoutMs: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scopes?: readonly string[];
}

/** Dependencies that tests replace. */
export interface LoginSurroundings extends Partial<Pick<Reach, "ca" | "dial">> {
  readonly now?: () => number;
}

/** Makes a login. Nothing is requested before a token is asked for. */
export function createLogin(options: LoginOptions, surroundings: LoginSurroundings = {}): Login {
  const { now = Date.now, ca = null, dial = null } = surroundings;
  const { directory, timeoutMs, say, clientId = null, clientSecret = null, scopes = null } = options;
  const server = new URL(options.server);
  server.username = server.password = server.hash = "";
  let opened: Store | null = null;
  let grant: Grant | null = null;
  let flow: Promise<Flow> | null = null;
  let renewing: Promise<string | null> | null = null;
  let answering: Promise<string> | null = null;
  let renewAfter = 0;
  let failed: { readonly error: unknown; readonly at: number } | null = null;

  // Opened late, so that a problem with the directory is reported to the caller that asks for a token.
  const store = (): Store => (opened ??= openStore(directory, server.href));
  const openFlow = (): Promise<Flow> =>
    (flow ??= import("./flow.ts").then(({ createFlow }) =>
      createFlow({ server, clientId, clientSecret, scopes, timeoutMs, invite, now, reach: { ca, dial } }),
    ));

  function invite(page: string): void {
    say(`Log in to ${shown(server)} in your browser. If none opens, open this page:\n${page}`);
    try {
      options.openBrowser(page);
    } catch {
      // The URL has been printed.
    }
  }

  /** Reads the stored login, if it belongs to the configured client. */
  function recall(): Memory | null {
    const memory = store().read();
    const isOurs = memory !== null && (clientId === null || memory.client.id === clientId);
    grant = isOurs ? memory.grant : null;
    return isOurs ? memory : null;
  }

  function keep(memory: Memory, next: Grant): string {
    store().write({ ...memory, grant: next });
    grant = next;
    return next.accessToken;
  }

  const onWait = (): void => say(`Another Fairlead is logging in to ${shown(server)}; waiting for it`);

  /** Runs work that no other process may do at the same time. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    return withLock(store().lockFile, { timeoutMs: timeoutMs + PATIENCE_MS, onWait }, work);
  }

  /** Refreshes an expiring token, unless another process just did. */
  async function renew(): Promise<string | null> {
    renewAfter = now() + RETRY_MS;
    return alone(async () => {
      const memory = recall();
      if (memory === null || grant === null) return null;
      if (!isEnding(grant, now())) return grant.accessToken;
      const next = await (await openFlow()).renew(memory, grant);
      // The issuer refused the refresh: keep the token without its refresh token and use it until it expires.
      return keep(memory, next ?? { ...grant, refreshToken: null });
    });
  }

  async function obtain(challenge: Challenge, refused: string | null): Promise<string> {
    readEndpoint(server.href, "the server");
    return alone(async () => {
      const memory = recall();
      // Another process has logged in meanwhile.
      if (grant !== null && grant.accessToken !== refused && !isOver(grant, now())) return grant.accessToken;
      const isVain = grant !== null && grant.accessToken === refused && wasNeverGood(grant, challenge, now());
      const { renew, logIn } = await openFlow();
      if (memory !== null && grant !== null && !isVain && !challenge.wantsMoreScope) {
        const next = await renew(memory, grant);
        if (next !== null) return keep(memory, next);
      }
      try {
        // If a refreshed token is refused, a new login may help. If the token of a login is refused, only another
        // issuer can help.
        const next = await logIn(challenge, memory, isVain && (challenge.wantsMoreScope || grant?.by === "login"));
        say(`Logged in to ${shown(server)}`);
        return keep(next, next.grant as Grant);
      } catch (error) {
        // The issuer may have lost our registration and shown that only to the user: register again next time.
        if (memory !== null) store().write({ ...memory, client: { ...memory.client, expiresAt: 1 } });
        throw error;
      }
    });
  }

  return {
    async token() {
      if (!isSafe(server)) return null;
      if (grant === null) recall();
      const current = grant;
      if (current === null) return null;
      if (!isEnding(current, now())) return current.accessToken;
      if (current.refreshToken !== null && now() >= renewAfter) {
        renewing ??= renew().finally(() => (renewing = null));
        await renewing.catch(() => {}); // the old token may still be valid; if not, the server will refuse it
      }
      return grant === null || isOver(grant, now()) ? null : grant.accessToken;
    },

    async answer(challenge, refused) {
      // Each failure may have opened a browser window. Do not open one for every request.
      if (failed !== null && now() - failed.at < RETRY_MS) throw failed.error;
      answering ??= obtain(parseChallenge(challenge), refused)
        .catch((error: unknown) => {
          failed = { error, at: now() };
          throw error;
        })
        .finally(() => (answering = null));
      return answering;
    },
  };
}

/** How much longer to wait for another process's login than for the user. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 10_000;
/** How long before it expires a token is refreshed. */
const MARGIN_MS = 60_000;
/** A token that is refused when it is younger than this was never accepted. */
const YOUNG_MS = 30_000;
/** The same for a token that was requested with all scopes the server asks for. */
const CONTENT_MS = 300_000;

function isSafe(server: URL): boolean {
  try {
    readEndpoint(server.href, "the server");
    return true;
  } catch {
    return false;
  }
}

function isOver({ expiresAt }: Grant, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function isEnding({ expiresAt, at }: Grant, now: number): boolean {
  return expiresAt !== null && now >= expiresAt - Math.min(MARGIN_MS, (expiresAt - at) / 5);
}

/** Whether the token was refused from the start, so that another one like it would be refused too. */
function wasNeverGood(grant: Grant, { wantsMoreScope, scopes }: Challenge, now: number): boolean {
  const age = now - grant.at;
  if (!wantsMoreScope) return age < YOUNG_MS && !isOver(grant, now);
  return age < CONTENT_MS && scopes.every((scope) => grant.asked.includes(scope));
}
