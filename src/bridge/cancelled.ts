import { findMember } from "../message/members.ts";
import type { Message } from "../message/message.ts";

/** The id of the request that a cancellation refers to, as it was spelled; null if it has none. */
export function cancelledId({ bytes, envelope }: Message): string | null {
  if (envelope.kind !== "notification" || envelope.params === null) return null;
  const id = findMember(bytes, envelope.params, "requestId");
  return id === null ? null : bytes.toString("latin1", id.start, id.end);
}
