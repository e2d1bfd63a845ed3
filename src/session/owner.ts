import type { Span } from "../message/envelope.ts";
import { findMember, readString } from "../message/members.ts";

/** Who the client of a session is. */
export interface Owner {
  /** Whom we let in, whom a header names that the policy trusts, or the address; null where there is none of these. */
  readonly identity: string | null;
  /** The key under which rules count and remember; null for one of the session's own. */
  readonly scope: string | null;
  /** Who may be given a private answer again; null for this session only. */
  readonly audience: string | null;
}

/** What a client calls itself, or the beginning of it. */
export function readClientName(bytes: Buffer, info: Span | null): string | null {
  const name = info === null ? null : readString(bytes, findMember(bytes, info, "name"));
  return name === null ? null : name.slice(0, MAX_CLIENT_CHARACTERS);
}

const MAX_CLIENT_CHARACTERS = 256;
