import type { IncomingMessage } from "node:http";

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
  let first: Buffer | null = null;
  let more: Buffer[] | null = null;
  let size = 0;
  let isOver = false;

  function finish(body: Body): void {
    if (isOver) return;
    isOver = true;
    held -= size;
    first = null;
    more = null;
    done(body);
  }

  request.on("data", (chunk: Buffer) => {
    if (isOver) return;
    size += chunk.length;
    held += chunk.length;
    if (size > maxBytes) return finish("too-large");
    if (held > MAX_HELD_BYTES) return finish("no-room");
    if (first === null) first = chunk;
    else (more ??= [first]).push(chunk);
  });
  request.on("end", () => finish(more === null ? (first ?? NOTHING) : Buffer.concat(more)));
  request.on("close", () => {
    if (isOver) return;
    isOver = true;
    held -= size;
  });
}

const NOTHING = Buffer.alloc(0);
