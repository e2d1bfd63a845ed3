import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { Visit } from "../link/http/door.ts";
import { networkOf } from "../link/network.ts";
import type { Owner } from "../session/owner.ts";

/**
 * Who sent a request. What rules count and remember goes by something that the client cannot change at will: whom we let
 * in, or whom the header names that the policy trusts, or else the address. Not by the connection, because a new one
 * costs nothing; and not by a token that we do not check, because the client may invent another.
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

/** Who the client is, where that is known: whom we let in, or whom the header names that the policy trusts. */
export function nameOf({ principal, head }: Pick<Visit, "principal" | "head">): string | null {
  return principal?.id ?? head.identity;
}

/** The same for a session that we host, or that the server gave: without an identity, what is counted is the session's. */
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

  /** Who shows the same credentials gets the same private answers; without any, only the same connection does. */
  get audience(): string {
    this.#audience ??= this.#findAudience();
    return this.#audience;
  }

  /** Lets go of all that is not needed any more: its session lives longer than the request that began it. */
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

/** A token is a secret; a part of its hash tells it from others just as well. */
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
