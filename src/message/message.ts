import { isAscii } from "node:buffer";
import { type Envelope, readEnvelope } from "./envelope.ts";
import type { Payload } from "./payload.ts";

export type { Payload } from "./payload.ts";

/** Up is from client to server, down is from server to client. */
export type Direction = "up" | "down";

/** One message: its bytes, which are never edited, and its envelope. Spans in the envelope are offsets in `bytes`. */
export interface Message extends Payload {
  readonly direction: Direction;
  readonly envelope: Envelope;
}

/**
 * Opens the bytes of one message. `breaks` says whether line breaks are allowed between tokens. `maxDepth` is the limit
 * for nesting; the default is the deepest nesting that the scanner can read.
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

/** The payload of a buffer that contains one message and nothing else. */
export function whole(bytes: Buffer): Payload {
  return { bytes, start: 0, end: bytes.length, ascii: isAscii(bytes) };
}

/** The opposite direction. */
export function opposite(direction: Direction): Direction {
  return direction === "up" ? "down" : "up";
}
