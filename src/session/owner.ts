import type { Span } from "../message/envelope.ts";
import { findMember, readString } from "../message/members.ts";
import { META_KEYS } from "../message/protocol.ts";

/** Who the client of a session is. */
export interface Owner {
  /** The authenticated client, the name in a header that the policy trusts, or the address. Null if none is known. */
  readonly identity: string | null;
  /** The key under which rules keep their state. Null for the session's own key. */
  readonly scope: string | null;
  /** The group of sessions that may share a cached private response. Null for this session only. */
  readonly audience: string | null;
}

/** Name and version of a client, as it states them. Long texts are cut. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string | null;
}

/** Reads the `clientInfo` of a client. Null if it has no name. */
export function readClientInfo(bytes: Buffer, info: Span | null): ClientInfo | null {
  const name = readClientName(bytes, info);
  if (name === null || info === null) return null;
  const version = readString(bytes, findMember(bytes, info, "version"));
  return { name, version: version === null ? null : version.slice(0, MAX_CLIENT_CHARACTERS) };
}

/** The name of a client, as it states it. A long name is cut. */
export function readClientName(bytes: Buffer, info: Span | null): string | null {
  const name = info === null ? null : readString(bytes, findMember(bytes, info, "name"));
  return name === null ? null : name.slice(0, MAX_CLIENT_CHARACTERS);
}

/** Reads the client's info from the params of a request: since 2026-07-28 each request contains it. */
export function readClaimedInfo(bytes: Buffer, params: Span | null): ClientInfo | null {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return meta === null ? null : readClientInfo(bytes, findMember(bytes, meta, META_KEYS.clientInfo));
}

const MAX_CLIENT_CHARACTERS = 256;
