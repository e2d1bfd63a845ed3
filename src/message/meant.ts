import { guessKey } from "./id.ts";
import type { Message } from "./message.ts";

/**
 * The key of the request that a message answers, or was meant to answer if the message cannot be read. Undefined if the
 * message is not a response or has no usable id.
 */
export function keyMeant({ bytes, envelope }: Message): number | string | undefined {
  if (envelope.kind === "result" || envelope.kind === "error") return envelope.id?.key;
  if (envelope.kind !== "opaque" || envelope.like !== "answer") return undefined;
  const { id, oddId } = envelope;
  return id?.key ?? (oddId === null ? undefined : guessKey(bytes, oddId.start, oddId.end));
}
