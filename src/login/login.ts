import { type Challenge, parseChallenge } from "./challenge.ts";
import type { Reach } from "../link/fetch.ts";
import type { Flow } from "./flow.ts";
import { withLock } from "./lock.ts";
import { readEndpoint } from "../link/reach.ts";
import { type Grant, type Memory, openStore, type Store } from "./store.ts";
import { shown } from "../link/trouble.ts";

/** A login to one server, and the tokens it brought. */
export interface Login {
  /** The access token to send: refreshed where it is about to run out; null where nobody has logged in yet. */
  token(): Promise<string | null>;
  /**
   * The server refused with 401, or 403 insufficient_scope: refreshes or logs in anew. `challenge` is its
   * WWW-Authenticate header, `refused` the token it refused. Resolves with a token; rejects with a ProxyError when that
   * cannot be had. Concurrent calls share one login.
   */
  answer(challenge: string | null, refused: string | null): Promise<string>;
}

/** Where to log in, and how. */
export interface LoginOptions {
  /** URL of the MCP endpoint. */
  readonly server: string;
  /** Where tokens are kept. */
  readonly directory: string;
  readonly openBrowser: (url: string) => void;
  /** For people, on stderr. */
  readonly say: (text: string) => void;
  /** How long a person may take. */
  readonly timeoutMs: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scopes?: readonly string[];
}

/** What is around us. */
export interface LoginSurroundings extends Partial<Pick<Reach, "ca" | "dial">> {
  readonly now?: () => number;
}

/** Makes a login. Nothing is asked of anybody before a token is. */
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

  // Opened late, so that what is wrong with the directory is heard by whoever asks for a token.
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
      // The page has been printed.
    }
  }

  /** What is known, if it is for the client we are to be. */
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

  /** Does what no other process may do at the same time. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    return withLock(store().lockFile, { timeoutMs: timeoutMs + PATIENCE_MS, onWait }, work);
  }

  /** Refreshes a token that runs out, unless somebody else just did. */
  async function renew(): Promise<string | null> {
    renewAfter = now() + RETRY_MS;
    return alone(async () => {
      const memory = recall();
      if (memory === null || grant === null) return null;
      if (!isEnding(grant, now())) return grant.accessToken;
      const next = await (await openFlow()).renew(memory, grant);
      // Refused for good: kept without the refresh token, it lasts as long as it lasts.
      return keep(memory, next ?? { ...grant, refreshToken: null });
    });
  }

  async function obtain(challenge: Challenge, refused: string | null): Promise<string> {
    readEndpoint(server.href, "the server");
    return alone(async () => {
      const memory = recall();
      // Somebody else has logged in meanwhile.
      if (grant !== null && grant.accessToken !== refused && !isOver(grant, now())) return grant.accessToken;
      const isVain = grant !== null && grant.accessToken === refused && wasNeverGood(grant, challenge, now());
      const { renew, logIn } = await openFlow();
      if (memory !== null && grant !== null && !isVain && !challenge.wantsMoreScope) {
        const next = await renew(memory, grant);
        if (next !== null) return keep(memory, next);
      }
      try {
        // After a refresh in vain a person may help. After a login in vain only another issuer can.
        const next = await logIn(challenge, memory, isVain && (challenge.wantsMoreScope || grant?.by === "login"));
        say(`Logged in to ${shown(server)}`);
        return keep(next, next.grant as Grant);
      } catch (error) {
        // Perhaps the issuer has forgotten us, and showed that to the person only: we register anew next time.
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
        await renewing.catch(() => {}); // the old one may do for a while; if not, the server will say so
      }
      return grant === null || isOver(grant, now()) ? null : grant.accessToken;
    },

    async answer(challenge, refused) {
      // Each failure may have cost a person a window: not one for every request a client tries.
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

/** How long another login may take longer than a person may. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 10_000;
/** A token is refreshed so long before its end. */
const MARGIN_MS = 60_000;
/** A token that is refused when it is younger than this was never good. */
const YOUNG_MS = 30_000;
/** And one that has all that the server asks for. */
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

/** Whether a refused token was refused from the start, so that another like it would be, too. */
function wasNeverGood(grant: Grant, { wantsMoreScope, scopes }: Challenge, now: number): boolean {
  const age = now - grant.at;
  if (!wantsMoreScope) return age < YOUNG_MS && !isOver(grant, now);
  return age < CONTENT_MS && scopes.every((scope) => grant.asked.includes(scope));
}
