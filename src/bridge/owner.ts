import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { Visit } from "../link/http/door.ts";
import { networkOf } from "../link/network.ts";
import type { Owner } from "../session/owner.ts";

/**
 * The owner of a request: the key under which rules count and keep state. A client must not be able to change it at
 * will, so it is the authenticated identity, or the identity in a header that the policy trusts, or else the network
 * address. The connection would not do, because a client can open a new one at no cost; nor would a token that the
 * proxy does not check, because a client can invent another.
 */
export function ownerOf(visit: Visit): HttpOwner {
  const { head, request } = visit;
  const known = nameOf(visit);
  const address = `address:${networkOf(request.socket.remoteAddress)}`;
  return new HttpOwner(
    known ?? address,
    known === null ? address : `identity:${known}`,
    head.authorization,
    request.socket,
  );
}

/** The client's identity, if it is known: the authenticated one, or the one in a header that the policy trusts. */
export function nameOf({ principal, head }: Pick<Visit, "principal" | "head">): string | null {
  return principal?.id ?? head.identity;
}

/** The owner of a session that the proxy hosts or the server assigned. Without an identity, rules count by session. */
export function ownerOfSession(visit: Visit): Owner {
  const owner = ownerOf(visit);
  return nameOf(visit) === null
    ? { identity: owner.identity, scope: null, audience: null }
    : { identity: owner.identity, scope: owner.scope, audience: null };
}

/** A class, because one is made for every request without a session, and few rules ask for the audience. */
class HttpOwner implements Owner {
  readonly identity: string;
  readonly scope: string;
  #authorization: string | null;
  #socket: Socket | null;
  #audience: string | null = null;

  constructor(identity: string, scope: string, authorization: string | null, socket: Socket) {
    this.identity = identity;
    this.scope = scope;
    this.#authorization = authorization;
    this.#socket = socket;
  }

  /**
   * Clients with the same credentials share private cached responses. Without credentials, only requests on the same
   * connection share them.
   */
  get audience(): string {
    this.#audience ??= this.#findAudience();
    return this.#audience;
  }

  /** Releases what is no longer needed: the session lives longer than the request that began it. */
  settle(): void {
    this.#audience ??= this.#findAudience();
    this.#authorization = null;
    this.#socket = null;
  }

  #findAudience(): string {
    if (!this.identity.startsWith("address:")) return `${this.identity} ${hash(this.#authorization ?? "")}`;
    if (this.#authorization !== null) return `token:${hash(this.#authorization)}`;
    return this.#socket === null ? "" : connectionOf(this.#socket);
  }
}

/** The token is a secret, and part of its hash identifies it just as well. */
function hash(authorization: string): string {
  return createHash("sha256").update(authorization).digest("base64url").slice(0, HASH_CHARACTERS);
}

const HASH_CHARACTERS = 22;

const connections = new WeakMap<Socket, string>();
let counter = 0;

function connectionOf(socket: Socket): string {
  let name = connections.get(socket);
  if (name === undefined) {
    name = `connection:${++counter}`;
    connections.set(socket, name);
  }
  return name;
}
