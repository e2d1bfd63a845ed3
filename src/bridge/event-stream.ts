import type { ServerResponse } from "node:http";
import { answerMemory, countIn, readerOf } from "../link/memory.ts";
import { createOutlet, type Outlet } from "../relay/outlet.ts";
import { frameMessage } from "./stream-back.ts";

/** An event stream of our own to a client. */
export interface EventStream {
  readonly outlet: Outlet;
  readonly response: ServerResponse;
  send(message: Buffer): void;
  end(): void;
}

/** How often a silent stream says that it is still there: clients and what lies between give up on silence. */
const KEEP_ALIVE_MS = 15_000;
const COMMENT = Buffer.from(": keepalive\n\n");

/** Begins a stream. Its head leaves at once. */
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
