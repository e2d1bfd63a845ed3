import type { IncomingMessage, ServerResponse } from "node:http";
import { createPieces, type Pieces } from "../../wire/pieces.ts";
import type { Claim } from "../budget.ts";
import { MAX_UNCOUNTED_BYTES, requestMemory } from "../memory.ts";

/** The bytes of a body, or why it could not be read. */
export type Body = Buffer | "too-large" | "no-room";

/**
 * Reads the body of a request whose Content-Length is `length`, at most `maxBytes` of it. Calls back once, or never if
 * the client has disconnected. Its memory is counted until the request ends or `sent` is called. If memory is short,
 * the client has to wait, and is refused if that takes too long.
 */
export function readBody(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  length: string | null,
  maxBytes: number,
  done: (body: Body, sent: () => void) => void,
): void {
  if (Number(length ?? 0) > maxBytes) return done("too-large", nothing);
  if (length !== null && Number(length) <= MAX_UNCOUNTED_BYTES) return readSmall(request, done);
  const pieces = createPieces();
  let isOver = false;
  let burst = 0; // chunks read since other connections had their turn
  let claim: Claim | null = null; // most bodies are too small to be counted
  const release = (): void => claim?.release();

  function count(bytes: number): void {
    if (claim === null && bytes <= MAX_UNCOUNTED_BYTES) return;
    claim ??= requestMemory.claim({
      pause: () => void request.pause(),
      resume: () => void request.resume(),
      cut() {
        if (isOver) request.socket.destroy();
        else finish("no-room");
      },
    });
    claim.weigh(bytes);
  }

  function finish(body: Body): void {
    if (isOver) return;
    isOver = true;
    if (typeof body === "string") forget();
    else count(body.length);
    done(body, release);
  }

  request.on("data", (chunk: Buffer) => {
    if (isOver) return;
    pieces.push(chunk);
    if (++burst === MAX_PIECES_PER_TURN) giveOthersATurn();
    count(pieces.weight);
    if (pieces.size > maxBytes) finish("too-large");
  });
  request.on("end", () => finish(pieces.join()));
  response.on("close", () => {
    isOver = true;
    forget();
  });

  /**
   * Lets other connections read first. libuv reads a socket up to 32 times before it turns to the next one, and each
   * read may contain ten thousand tiny chunks. Node resumes the socket itself with the next chunk, so it is paused
   * again each time.
   */
  function giveOthersATurn(): void {
    const { socket } = request;
    const stayPaused = (): void => void socket.pause();
    socket.on("resume", stayPaused);
    socket.pause();
    setImmediate(() => {
      burst = 0;
      socket.off("resume", stayPaused);
      // Also if the request itself is paused because memory is short: Node would not resume the socket together with
      // the request.
      socket.resume();
    });
  }

  function forget(): void {
    pieces.release(nothing); // the request may continue, and its listeners keep the pieces
    release();
  }
}

/** Reads a body that is too small to be counted. It nearly always arrives in one chunk. */
function readSmall(request: IncomingMessage, done: (body: Buffer, sent: () => void) => void): void {
  let first: Buffer | null = null;
  let pieces: Pieces | null = null;
  request.on("data", (chunk: Buffer) => {
    if (pieces !== null) pieces.push(chunk);
    else if (first === null) first = chunk;
    else {
      pieces = createPieces();
      pieces.push(first);
      pieces.push(chunk);
    }
  });
  request.on("end", () => done(pieces?.join() ?? first ?? NOTHING, nothing));
}

const NOTHING = Buffer.alloc(0);
/** How many chunks of one body are read before other connections have their turn. */
const MAX_PIECES_PER_TURN = 1000;

function nothing(): void {}
