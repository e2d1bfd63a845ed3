import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { Visit } from "../link/http/door.ts";
import { FIRST_STATELESS } from "../session/era.ts";
import type { Owner } from "../session/owner.ts";

/**
 * Whose a request is, for rules that tell clients apart: somebody we let in, whoever has a token that the server wants, or
 * nobody in particular. Where requests belong to no session, what is remembered is this one's, or else the connection's.
 */
export function ownerOf({ principal, head, request }: Visit): Owner {
  const identity = principal?.id ?? bearerOf(head.authorization);
  const isStateless = head.protocolVersion !== null && head.protocolVersion >= FIRST_STATELESS;
  if (!isStateless) return { identity, scope: null };
  return { identity, scope: identity === null ? connectionOf(request.socket) : `identity:${identity}` };
}

/** A token is a secret: a part of its hash tells it from others as well. */
function bearerOf(authorization: string | null): string | null {
  if (authorization === null) return null;
  return `token:${createHash("sha256").update(authorization).digest("base64url").slice(0, HASH_CHARACTERS)}`;
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
