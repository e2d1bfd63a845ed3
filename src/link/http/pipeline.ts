import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that may be open at once. */
export const MAX_PIPELINED = 64;
/** Requests of one connection that may wait behind those. One read of a socket brings fewer. */
export const MAX_PIPELINE_QUEUE = 4096;
/** The same, of all connections together. */
export const MAX_QUEUED_REQUESTS = 16_384;

/** Lets requests in that come one behind the other on one connection. */
export interface Pipeline {
  /**
   * Calls `go` now, or when fewer requests of its connection are open. Nothing more is read from the connection until
   * then. A connection that has sent too much for that is closed, and its client told nothing.
   */
  enter(request: IncomingMessage, response: ServerResponse, go: () => void): void;
}

interface Line {
  readonly open: ServerResponse[];
  readonly queue: { readonly response: ServerResponse; readonly go: () => void }[];
}

const LINE = Symbol("line");
/** Kept with the connection itself: a look into a map for every request would cost more. */
type Piped = Socket & { [LINE]?: Line };

/** Makes a pipeline for the connections of one door. `onExcess` is told of a connection that is closed. */
export function createPipeline(onExcess: () => void): Pipeline {
  let queued = 0;

  function begin(socket: Piped): Line {
    const line: Line = { open: [], queue: [] };
    // Node makes a socket flow again when it has read a whole request, and when somebody reads the body of one.
    socket.on("resume", () => {
      if (line.queue.length > 0) socket.pause();
    });
    socket.once("close", () => {
      queued -= line.queue.length;
      const left = [...line.open, ...line.queue.splice(0).map(({ response }) => response)];
      // Node tells only the response whose turn it is that the connection closed, and not those that stand behind it.
      for (const response of left) if (response.socket === null) closeResponse(response);
    });
    return line;
  }

  function start(socket: Piped, line: Line, response: ServerResponse, go: () => void): void {
    line.open.push(response);
    response.once("close", () => {
      line.open.splice(line.open.indexOf(response), 1);
      const next = line.queue.shift();
      if (next !== undefined) {
        queued--;
        start(socket, line, next.response, next.go);
      } else if (socket.isPaused()) socket.resume();
    });
    go();
  }

  return {
    enter(request, response, go) {
      const socket: Piped = request.socket;
      const line = (socket[LINE] ??= begin(socket));
      if (line.open.length < MAX_PIPELINED && line.queue.length === 0) return start(socket, line, response, go);
      if (line.queue.length >= MAX_PIPELINE_QUEUE || queued >= MAX_QUEUED_REQUESTS) {
        if (!socket.destroyed) onExcess();
        return void socket.destroy();
      }
      queued++;
      line.queue.push({ response, go });
      socket.pause();
    },
  };
}

/** Tells whoever listens that a response cannot be sent any more. */
function closeResponse(response: ServerResponse): void {
  response.destroy();
  response.emit("close");
}
