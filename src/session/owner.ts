import type { Span } from "../message/envelope.ts";
import { findMember, readString } from "../message/members.ts";

/** Whose a session is. */
export interface Owner {
  readonly identity: string | null;
  /** Null where what is remembered is for this session only. */
  readonly scope: string | null;
}

/** What a client calls itself, or the beginning of it. */
export function readClientName(bytes: Buffer, info: Span | null): string | null {
  const name = info === null ? null : readString(bytes, findMember(bytes, info, "name"));
  return name === null ? null : name.slice(0, MAX_CLIENT_CHARACTERS);
}

const MAX_CLIENT_CHARACTERS = 256;
