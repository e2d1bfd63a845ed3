import type { ServerResponse } from "node:http";
import { type Budget, type Claim, createBudget, type Holder } from "./budget.ts";

/** The limit for HTTP requests that have not been sent to the server yet, of all clients together. */
export const MAX_REQUEST_MEMORY = 128 * 1024 * 1024;
/** The limit for responses that are incomplete or that clients have not read yet, of all clients together. */
const MAX_ANSWER_MEMORY = 256 * 1024 * 1024;
/** Messages up to this size are not counted: their number is limited anyway, and counting has a cost. */
export const MAX_UNCOUNTED_BYTES = 16_384;

// One per process, not per proxy, because memory belongs to the process.
export const requestMemory: Budget = createBudget(MAX_REQUEST_MEMORY);
export const answerMemory: Budget = createBudget(MAX_ANSWER_MEMORY);

/**
 * Raises the limits for messages of this size: without room for a few of them, no message could ever become complete.
 */
export function makeRoomFor(maxMessageBytes: number): void {
  requestMemory.raise(LEAST_MESSAGES * maxMessageBytes);
  answerMemory.raise(LEAST_MESSAGES * maxMessageBytes);
}

const LEAST_MESSAGES = 4;

/** Counts the memory of one message, once it exceeds the size below which messages are not counted. */
export function countIn(budget: Budget, holder: Holder): Claim {
  let claim: Claim | null = null;
  return {
    weigh(bytes) {
      if (claim === null && bytes <= MAX_UNCOUNTED_BYTES) return;
      claim ??= budget.claim(holder);
      claim.weigh(bytes);
    },
    release() {
      claim?.release();
      claim = null;
    },
  };
}

/** Counts a body that was handed to a response, until the client has read it or has disconnected. */
export function countUnread(response: ServerResponse, bytes: number): void {
  if (bytes <= MAX_UNCOUNTED_BYTES) return;
  const claim = answerMemory.claim(readerOf(response));
  claim.weigh(bytes);
  response.once("close", () => claim.release());
}

/**
 * A client that reads a response. It cannot be paused; if it does not read, it is disconnected when others need the
 * memory.
 */
export function readerOf(response: ServerResponse): Holder {
  return { cut: () => void response.destroy(), pulse: () => unsent(response) };
}

/**
 * How many bytes have not been handed to the operating system yet. A stream only knows which writes are unfinished, and
 * one write may be a whole message; the socket's handle knows the exact number. Node itself uses it to detect a stalled
 * socket.
 */
export function unsent(response: ServerResponse): number {
  const { _handle: handle } = (response.socket ?? {}) as { _handle?: { writeQueueSize?: unknown } | null };
  return typeof handle?.writeQueueSize === "number" ? handle.writeQueueSize : response.writableLength;
}
