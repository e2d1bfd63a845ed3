import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../network.ts";

/** How many requests of one connection may be open at once. */
export const MAX_PIPELINED = 64;
/** How many requests of one connection may wait behind those. One read of a socket contains fewer. */
export const MAX_PIPELINE_QUEUE = 4096;
/** How many requests of all connections together may wait. */
export const MAX_QUEUED_REQUESTS = 16_384;

/** A connection, and its requests. */
export interface Line {
  /** The network of the client. */
  readonly network: string;
  readonly open: ServerResponse[];
  readonly queue: ServerResponse[];
  /** The timer that runs while requests wait. */
  waiting: NodeJS.Timeout | null;
}

/** Options of a pipeline. */
export interface PipelineOptions {
  /** Processes a request when its turn has come. */
  readonly enter: (request: IncomingMessage, response: ServerResponse, line: Line) => void;
  /** Called when an admitted request has ended. */
  readonly leave: (response: ServerResponse) => void;
  /** Called when a connection is closed because it has sent too many requests, or because they have waited too long. */
  readonly excess: () => void;
  /** How long requests may wait, in milliseconds, while no earlier request of their connection ends. */
  readonly waitMs: number;
}

const LINE = Symbol("line");
/** Stored on the socket itself: looking it up in a map for every request would cost more. */
type Piped = Socket & { [LINE]?: Line };

/**
 * Limits how many pipelined requests of one connection are processed at once. The next ones wait, and nothing more is
 * read from the connection meanwhile. A connection is closed if it has already sent too many, or if its requests wait
 * too long.
 */
export function createPipeline({
  enter,
  leave,
  excess,
  waitMs,
}: PipelineOptions): (request: IncomingMessage, response: ServerResponse) => void {
  let queued = 0;

  function begin(socket: Piped): Line {
    const line: Line = { network: networkOf(socket.remoteAddress), open: [], queue: [], waiting: null };
    // Node resumes a socket after it has parsed a whole request, and when a request's body is read.
    socket.on("resume", () => {
      if (line.queue.length > 0) socket.pause();
    });
    socket.once("close", () => {
      stopWaiting(line);
      queued -= line.queue.length;
      const left = [...line.open, ...line.queue.splice(0)];
      // When a connection closes, Node emits "close" only on its current response, not on the responses queued behind
      // it.
      for (const response of left) if (response.socket === null) closeResponse(response);
    });
    return line;
  }

  function start(request: IncomingMessage, response: ServerResponse, line: Line): void {
    line.open.push(response);
    response.on("close", onClose);
    enter(request, response, line);
  }

  /** One function shared by all responses; `this` is the response. */
  function onClose(this: ServerResponse): void {
    const socket: Piped = this.req.socket;
    const line = socket[LINE];
    leave(this);
    if (line === undefined) return;
    if (line.open.length === 1) line.open.pop();
    else line.open.splice(line.open.indexOf(this), 1);
    const next = line.queue.shift();
    if (next !== undefined) {
      queued--;
      if (line.queue.length === 0) stopWaiting(line);
      else line.waiting?.refresh();
      start(next.req, next, line);
    } else if (socket.isPaused()) socket.resume();
  }

  function close(socket: Socket): void {
    if (!socket.destroyed) excess();
    socket.destroy();
  }

  return (request, response) => {
    const socket: Piped = request.socket;
    const line = (socket[LINE] ??= begin(socket));
    if (line.open.length < MAX_PIPELINED && line.queue.length === 0) return start(request, response, line);
    if (line.queue.length >= MAX_PIPELINE_QUEUE || queued >= MAX_QUEUED_REQUESTS) return close(socket);
    queued++;
    line.queue.push(response);
    // A paused socket does not report that its peer has disconnected. Without this timeout, requests of a client that
    // is gone would stay open as long as the server does not answer.
    line.waiting ??= setTimeout(() => close(socket), waitMs).unref();
    socket.pause();
  };
}

function stopWaiting(line: Line): void {
  if (line.waiting !== null) clearTimeout(line.waiting);
  line.waiting = null;
}

/** Emits "close" on a response that cannot be sent any more. */
function closeResponse(response: ServerResponse): void {
  response.destroy();
  response.emit("close");
}
