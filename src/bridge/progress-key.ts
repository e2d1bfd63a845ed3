import { findMember, readString } from "../message/members.ts";
import type { Message } from "../message/message.ts";

/**
 * The id of the request that a progress notification refers to, assuming that its progress token is the request's id,
 * as it usually is.
 */
export function progressKey({ bytes, envelope }: Message): number | string | null {
  if (envelope.kind !== "notification" || envelope.method.name !== "notifications/progress") return null;
  const token = envelope.params === null ? null : findMember(bytes, envelope.params, "progressToken");
  if (token === null) return null;
  return readString(bytes, token) ?? Number(bytes.toString("latin1", token.start, token.end));
}
