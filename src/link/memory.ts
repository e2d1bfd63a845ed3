import type { ServerResponse } from "node:http";
import { type Budget, type Claim, createBudget, type Holder } from "./budget.ts";

/** Bytes of requests that came by HTTP and have not reached the server yet, of all clients together. */
export const MAX_REQUEST_MEMORY = 128 * 1024 * 1024;
/** Bytes of answers that clients have not read yet, or that are not whole yet, of all clients together. */
const MAX_ANSWER_MEMORY = 256 * 1024 * 1024;
/** Messages up to this size are not counted: there are only so many at once, and counting costs. */
export const MAX_UNCOUNTED_BYTES = 16_384;

// Of the process, not of one proxy: that is whose memory it is.
export const requestMemory: Budget = createBudget(MAX_REQUEST_MEMORY);
export const answerMemory: Budget = createBudget(MAX_ANSWER_MEMORY);

/** Makes room for messages of this size: with less than that for a few of them, none would ever be whole. */
export function makeRoomFor(maxMessageBytes: number): void {
  requestMemory.raise(LEAST_MESSAGES * maxMessageBytes);
  answerMemory.raise(LEAST_MESSAGES * maxMessageBytes);
}

const LEAST_MESSAGES = 4;

/** Counts what one message takes up, as soon as that is worth it. */
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

/** Counts a body that was handed to a response, until the client has read it or is gone. */
export function countUnread(response: ServerResponse, bytes: number): void {
  if (bytes <= MAX_UNCOUNTED_BYTES) return;
  const claim = answerMemory.claim(readerOf(response));
  claim.weigh(bytes);
  response.once("close", () => claim.release());
}

/** A client that reads a response. It cannot be told to read; who does not is cut off where others need the memory. */
export function readerOf(response: ServerResponse): Holder {
  return { cut: () => void response.destroy(), pulse: () => unsent(response) };
}

/**
 * How many bytes have not been handed to the system yet. A stream only knows how many writes are not over, and one write
 * may be a whole message; the handle below it knows, and Node itself looks there to see whether a socket is stuck.
 */
export function unsent(response: ServerResponse): number {
  const { _handle: handle } = (response.socket ?? {}) as { _handle?: { writeQueueSize?: unknown } | null };
  return typeof handle?.writeQueueSize === "number" ? handle.writeQueueSize : response.writableLength;
}
