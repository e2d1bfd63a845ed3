import type { Span } from "../message/envelope.ts";
import { findMember, readString } from "../message/members.ts";
import { META_KEYS } from "../message/protocol.ts";

/** Who the client of a session is. */
export interface Owner {
  /** Whom we let in, whom a header names that the policy trusts, or the address; null where there is none of these. */
  readonly identity: string | null;
  /** The key under which rules count and remember; null for one of the session's own. */
  readonly scope: string | null;
  /** Who may be given a private answer again; null for this session only. */
  readonly audience: string | null;
}

/** What a client says of itself. Of a long text the start. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string | null;
}

/** Reads the `clientInfo` of a client; null where it has no name. */
export function readClientInfo(bytes: Buffer, info: Span | null): ClientInfo | null {
  const name = readClientName(bytes, info);
  if (name === null || info === null) return null;
  const version = readString(bytes, findMember(bytes, info, "version"));
  return { name, version: version === null ? null : version.slice(0, MAX_CLIENT_CHARACTERS) };
}

/** What a client calls itself, or the beginning of it. */
export function readClientName(bytes: Buffer, info: Span | null): string | null {
  const name = info === null ? null : readString(bytes, findMember(bytes, info, "name"));
  return name === null ? null : name.slice(0, MAX_CLIENT_CHARACTERS);
}

/** Since 2026-07-28 a client says in each request who it is: reads that from the params of one. */
export function readClaimedInfo(bytes: Buffer, params: Span | null): ClientInfo | null {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return meta === null ? null : readClientInfo(bytes, findMember(bytes, meta, META_KEYS.clientInfo));
}

const MAX_CLIENT_CHARACTERS = 256;
