import { isAscii } from "node:buffer";
import { type Envelope, readEnvelope } from "./envelope.ts";
import type { Payload } from "./payload.ts";

export type { Payload } from "./payload.ts";

/** Up is from client to server, down is from server to client. */
export type Direction = "up" | "down";

/** One message: its bytes, which are never edited, and what they say. Places in the envelope are places in `bytes`. */
export interface Message extends Payload {
  readonly direction: Direction;
  readonly envelope: Envelope;
}

/**
 * Opens the bytes of one message. `breaks` says whether line breaks between tokens may stand in it, and `maxDepth` how deep
 * it may be nested: as deep as we can read, unless said otherwise.
 */
export function openMessage(
  payload: Payload,
  direction: Direction,
  breaks: "allow" | "refuse",
  maxDepth?: number,
): Message {
  const { bytes, start, end, ascii } = payload;
  return { bytes, start, end, ascii, direction, envelope: readEnvelope(payload, breaks, maxDepth) };
}

/** A buffer that is one message and nothing else. */
export function whole(bytes: Buffer): Payload {
  return { bytes, start: 0, end: bytes.length, ascii: isAscii(bytes) };
}

/** The other way. */
export function opposite(direction: Direction): Direction {
  return direction === "up" ? "down" : "up";
}
