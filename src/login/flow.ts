import { authorize } from "./authorize.ts";
import type { Challenge } from "./challenge.ts";
import { givenClient, register } from "./client.ts";
import { discover, findIssuer, guessIssuer, type Place } from "./discovery.ts";
import { createFetch, type Reach } from "../link/fetch.ts";
import { refresh } from "./grant.ts";
import { nearnessOf, readEndpoint } from "../link/reach.ts";
import { openRedirect } from "./redirect.ts";
import type { Grant, Memory, StoredClient } from "./store.ts";
import { loginFailed, shown } from "../link/trouble.ts";

/** The two ways to get a token. */
export interface Flow {
  /** Refreshes the token without the user. Null if the user has to log in. */
  renew(memory: Memory, grant: Grant): Promise<Grant | null>;
  /** Lets the user log in. `isVain` is whether the server refused the token of the last login with this issuer. */
  logIn(challenge: Challenge, memory: Memory | null, isVain: boolean): Promise<Memory>;
}

/** Options of a flow. */
export interface FlowOptions {
  readonly server: URL;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  readonly scopes: readonly string[] | null;
  readonly timeoutMs: number;
  readonly invite: (url: string) => void;
  readonly now: () => number;
  readonly reach: Pick<Reach, "ca" | "dial">;
}

/** Makes the flow for a server. */
export async function createFlow(options: FlowOptions): Promise<Flow> {
  const { server, clientId, clientSecret, timeoutMs, invite, now, reach } = options;
  // A server may only direct us to hosts that are as far away as the server itself, or farther.
  const fetch = createFetch({ ...reach, nearest: await nearnessOf(server.hostname) });

  return {
    async renew({ issuer: name, isGuessed, client, resource }, grant) {
      const url = readEndpoint(name, "the authorization server");
      const issuer = isGuessed ? guessIssuer(url) : await findIssuer(fetch, url);
      if (issuer === null) throw loginFailed(`${shown(url)} has lost its metadata`, "Try again later");
      return refresh(fetch, { issuer, client, grant, resource, now: now() });
    },

    async logIn(challenge, memory, isVain) {
      const place = await discover(fetch, server, challenge);
      const { issuer, isGuessed, resource } = place;
      if (isVain && memory?.issuer === issuer.issuer) throw refusedAgain(challenge);
      // Otherwise the server's operator could have the client's secret sent to an issuer of their own.
      if (clientId !== null && memory !== null && memory.issuer !== issuer.issuer) throw moved(issuer.issuer);
      const scopes = chooseScopes(options.scopes, challenge, place, memory?.grant ?? null);
      const known = memory?.issuer === issuer.issuer ? usable(memory.client, scopes, now()) : null;
      const redirect = await openRedirect(known?.redirectUri ?? null);
      try {
        const registered = known?.redirectUri === redirect.uri ? known : null;
        const client =
          clientId === null
            ? (registered ?? (await register(fetch, issuer, redirect.uri, scopes)))
            : givenClient(issuer, clientId, clientSecret);
        const grant = await authorize(fetch, { place, client, scopes, redirect, timeoutMs, invite, now });
        return { server: server.href, issuer: issuer.issuer, isGuessed, resource, client, grant };
      } finally {
        redirect.close();
      }
    },
  };
}

function refusedAgain({ wantsMoreScope }: Challenge): Error {
  const reason = `the server refuses the token it has just given${wantsMoreScope ? " as not enough" : ""}`;
  return loginFailed(reason, "Ask the operator of the server what your account may do");
}

function moved(issuer: string): Error {
  const reason = `the server now sends us to another issuer: ${shown(new URL(issuer))}`;
  return loginFailed(reason, "If that is right, register there and give the client id you get");
}

/** The client that was registered before, if it can still be used. */
function usable(client: StoredClient, scopes: readonly string[], now: number): StoredClient | null {
  const isOver = client.expiresAt !== null && client.expiresAt <= now;
  return isOver || !scopes.every((scope) => client.scopes.includes(scope)) ? null : client;
}

/** The scopes to request: the user's, or else those of the challenge, or else those that the server supports. */
function chooseScopes(
  wanted: readonly string[] | null,
  challenge: Challenge,
  { scopes: known, issuer }: Place,
  grant: Grant | null,
): string[] {
  const scopes = new Set(wanted ?? (challenge.scopes.length > 0 ? challenge.scopes : known));
  if (challenge.wantsMoreScope) {
    // In addition to the earlier scopes, so that what worked before keeps working.
    for (const scope of [...(grant?.asked ?? []), ...(grant?.scopes ?? []), ...challenge.scopes]) scopes.add(scope);
  }
  const offered: unknown = issuer.scopes_supported;
  if (scopes.size > 0 && Array.isArray(offered) && offered.includes("offline_access")) scopes.add("offline_access");
  return [...scopes];
}
