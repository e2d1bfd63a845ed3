import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../network.ts";

/** Requests of one connection that may be open at once. */
export const MAX_PIPELINED = 64;
/** Requests of one connection that may wait behind those. One read of a socket brings fewer. */
export const MAX_PIPELINE_QUEUE = 4096;
/** The same, of all connections together. */
export const MAX_QUEUED_REQUESTS = 16_384;

/** A connection, and the requests that came by it. */
export interface Line {
  /** The network that it comes from. */
  readonly network: string;
  readonly open: ServerResponse[];
  readonly queue: ServerResponse[];
  /** Runs while requests wait. */
  waiting: NodeJS.Timeout | null;
}

/** Who takes requests. */
export interface PipelineOptions {
  /** Takes a request when its turn has come. */
  readonly enter: (request: IncomingMessage, response: ServerResponse, line: Line) => void;
  /** Told when a request that was let in is over. */
  readonly leave: (response: ServerResponse) => void;
  /** Told of a connection that is closed because it has sent too much, or because it has waited for too long. */
  readonly excess: () => void;
  /** How long requests may wait behind others of their connection while none of those ends, in milliseconds. */
  readonly waitMs: number;
}

const LINE = Symbol("line");
/** Kept with the connection itself: a look into a map for every request would cost more. */
type Piped = Socket & { [LINE]?: Line };

/**
 * Lets requests in that come one behind the other on one connection: so many at once. The next ones wait, and nothing more is
 * read from the connection until they have had their turn. A connection that has sent too much for that is closed, and so is
 * one whose requests wait for too long.
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
    // Node makes a socket flow again when it has read a whole request, and when somebody reads the body of one.
    socket.on("resume", () => {
      if (line.queue.length > 0) socket.pause();
    });
    socket.once("close", () => {
      stopWaiting(line);
      queued -= line.queue.length;
      const left = [...line.open, ...line.queue.splice(0)];
      // Node tells only the response whose turn it is that the connection closed, and not those that stand behind it.
      for (const response of left) if (response.socket === null) closeResponse(response);
    });
    return line;
  }

  function start(request: IncomingMessage, response: ServerResponse, line: Line): void {
    line.open.push(response);
    response.on("close", onClose);
    enter(request, response, line);
  }

  /** One function for all responses: it is told which one. */
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
    // A socket that is paused does not tell that its peer has left. Without an end to that, what is open would stay open for
    // a client that is gone, as long as the server does not answer.
    line.waiting ??= setTimeout(() => close(socket), waitMs).unref();
    socket.pause();
  };
}

function stopWaiting(line: Line): void {
  if (line.waiting !== null) clearTimeout(line.waiting);
  line.waiting = null;
}

/** Tells whoever listens that a response cannot be sent any more. */
function closeResponse(response: ServerResponse): void {
  response.destroy();
  response.emit("close");
}
