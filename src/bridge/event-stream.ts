import type { ServerResponse } from "node:http";
import { answerMemory, countIn, readerOf } from "../link/memory.ts";
import { createOutlet, type Outlet } from "../relay/outlet.ts";
import { frameMessage } from "./stream-back.ts";

/** An event stream that the proxy writes to a client. */
export interface EventStream {
  readonly outlet: Outlet;
  readonly response: ServerResponse;
  send(message: Buffer): void;
  end(): void;
}

/**
 * How often a comment is sent on a silent stream: clients and intermediaries close connections that are silent for
 * long.
 */
const KEEP_ALIVE_MS = 15_000;
const COMMENT = Buffer.from(": keepalive\n\n");

/** Begins a stream and sends its response head at once. */
export function beginStream(response: ServerResponse, headers: readonly string[], onClose: () => void): EventStream {
  response.writeHead(200, [
    "Content-Type",
    "text/event-stream",
    "Cache-Control",
    "no-cache, no-transform",
    "X-Accel-Buffering",
    "no",
    ...headers,
  ]);
  response.flushHeaders();
  const outlet = createOutlet(response, () => {});
  const timer = setInterval(() => {
    if (!outlet.isFull) outlet.write(COMMENT);
  }, KEEP_ALIVE_MS).unref();
  const claim = countIn(answerMemory, readerOf(response));
  const weigh = (): void => claim.weigh(response.writableLength);
  response.on("drain", weigh);
  response.on("close", () => {
    clearInterval(timer);
    claim.release();
    onClose();
  });
  return {
    outlet,
    response,
    send(message) {
      outlet.write(frameMessage(message));
      weigh();
    },
    end() {
      clearInterval(timer);
      outlet.end();
    },
  };
}
