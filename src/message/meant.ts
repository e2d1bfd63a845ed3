import { guessKey } from "./id.ts";
import type { Message } from "./message.ts";

/**
 * What a peer would look the request up by that a message answers, or was meant to answer although it cannot be read;
 * undefined where it is not an answer, or does not tell.
 */
export function keyMeant({ bytes, envelope }: Message): number | string | undefined {
  if (envelope.kind === "result" || envelope.kind === "error") return envelope.id?.key;
  if (envelope.kind !== "opaque" || envelope.like !== "answer") return undefined;
  const { id, oddId } = envelope;
  return id?.key ?? (oddId === null ? undefined : guessKey(bytes, oddId.start, oddId.end));
}
