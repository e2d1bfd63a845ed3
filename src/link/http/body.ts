import type { IncomingMessage } from "node:http";
import { createPieces } from "../../wire/pieces.ts";

/** What became of a body: its bytes, or why there are none. */
export type Body = Buffer | "too-large" | "no-room";

/** Bytes of bodies that are on their way in, of all clients together. One that comes beyond that is asked to wait. */
const MAX_HELD_BYTES = 256 * 1024 * 1024;

let held = 0;

/**
 * Reads the body of a request whose Content-Length is `length`, at most `maxBytes` of it. Calls back
 * once, and not at all where the client is gone.
 */
export function readBody(
  request: IncomingMessage,
  length: string | null,
  maxBytes: number,
  done: (body: Body) => void,
): void {
  if (Number(length ?? 0) > maxBytes) return done("too-large");
  const pieces = createPieces();
  let weight = 0; // what was counted of it
  let isOver = false;

  function finish(body: Body): void {
    if (isOver) return;
    isOver = true;
    held -= weight;
    done(body);
  }

  request.on("data", (chunk: Buffer) => {
    if (isOver) return;
    pieces.push(chunk);
    held += pieces.weight - weight;
    ({ weight } = pieces);
    if (pieces.size > maxBytes) finish("too-large");
    else if (held > MAX_HELD_BYTES) finish("no-room");
  });
  request.on("end", () => finish(pieces.join()));
  request.on("close", () => {
    if (isOver) return;
    isOver = true;
    held -= weight;
  });
}
