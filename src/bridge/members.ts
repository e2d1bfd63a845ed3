import { composeError, type WireError } from "../message/compose.ts";
import type { Id } from "../message/id.ts";
import { listElements } from "../message/members.ts";
import { openMessage, whole } from "../message/message.ts";

/** One message of a batch, or one that came alone. */
export interface Member {
  readonly bytes: Buffer;
  /** The id of the request that it answers; null if it is not a response. */
  readonly answers: Id | null;
}

/** The messages of a judged batch, each with its own bytes. A single message is returned as the only member. */
export function membersOf(message: Buffer): Member[] {
  if (openMessage(whole(message), "down", "allow").envelope.kind !== "batch") return [memberOf(message)];
  return elementsOf(message).map(memberOf);
}

function memberOf(bytes: Buffer): Member {
  const { envelope } = openMessage(whole(bytes), "down", "allow");
  const isAnswer = envelope.kind === "result" || envelope.kind === "error";
  return { bytes, answers: isAnswer ? envelope.id : null };
}

function elementsOf(batch: Buffer): Buffer[] {
  const spans = listElements(batch, { start: batch.indexOf("["), end: batch.length });
  return spans.map(({ start, end }) => batch.subarray(start, end));
}

/** An error response for every request in a client's message or batch. */
export function refuseRequests(message: Buffer, error: WireError): Buffer[] {
  const { envelope } = openMessage(whole(message), "up", "allow");
  const parts = envelope.kind === "batch" ? elementsOf(message) : [message];
  return parts.flatMap((part) => {
    const asked = openMessage(whole(part), "up", "allow").envelope;
    return asked.kind === "request" ? [composeError(asked.id, error)] : [];
  });
}
