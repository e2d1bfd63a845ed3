import type { Socket } from "node:net";
import { createResponseReader, type ResponseReader } from "../../wire/http-response.ts";

/** A connection to a server, and the reader of the responses that come on it. */
export interface Connection {
  readonly socket: Socket;
  readonly reader: ResponseReader;
  /** Whether it waits in the pool for a request. */
  isIdle: boolean;
  /** Whether reading is paused by its request. */
  isHeld: boolean;
  /** When it will have been idle for too long. */
  idleUntil: number;
}

/**
 * How many parsing steps of one response are done before other connections have their turn. Most reads take one step.
 */
const MAX_STEPS_PER_TURN = 2000;

/** Reads responses from a socket. The caller handles the closing of the socket. */
export function createConnection(socket: Socket): Connection {
  const reader = createResponseReader();
  const connection: Connection = { socket, reader, isIdle: false, isHeld: false, idleUntil: 0 };
  socket.on("data", (chunk: Buffer) => {
    if (connection.isIdle) return void socket.destroy(); // there is no open request
    if (reader.push(chunk) > MAX_STEPS_PER_TURN) giveOthersATurn(connection);
  });
  socket.on("error", () => {}); // "close" follows
  socket.on("end", () => socket.destroy());
  return connection;
}

/** Pauses or resumes reading the response. */
export function hold(connection: Connection, isHeld: boolean): void {
  connection.isHeld = isHeld;
  if (isHeld) connection.socket.pause();
  else connection.socket.resume();
}

/**
 * Lets other connections read first. libuv reads a socket up to 32 times before it turns to the next one, and a read of
 * tiny chunks takes milliseconds: a server that sends them would block all other connections for a second.
 */
function giveOthersATurn(connection: Connection): void {
  // An idle connection has read the whole response. It is never paused, because its next request would not resume it.
  if (connection.isIdle || connection.isHeld) return;
  connection.socket.pause();
  setImmediate(() => {
    if (!connection.isHeld) connection.socket.resume();
  });
}
