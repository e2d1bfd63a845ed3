import { composeBatch, composeError } from "../message/compose.ts";
import { flatten } from "../message/flatten.ts";
import { createGistReader, type GistReader, MAX_BUFFER_BYTES } from "../message/gist.ts";
import { whole } from "../message/message.ts";
import { passOn } from "../relay/pass-on.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import { createPieces, type Pieces } from "../wire/pieces.ts";
import { INVALID, refusedWith } from "./answers.ts";
import type { Seat } from "./seats.ts";

/** What goes back to a client in place of a server's body. */
export interface JudgedBody {
  readonly status: number;
  readonly body: Buffer;
  /** Whose it is: the server's, byte for byte; the server's, changed; or ours instead of it. */
  readonly origin: "server" | "changed" | "ours";
}

/** Collects a body, as far as it is not too large. */
export interface BodyCollector {
  push(chunk: Buffer): void;
  /** Whether so much has come that it is given up: it may never end. */
  isHopeless(): boolean;
  /** How much memory it takes up now. */
  weight(): number;
  /** The whole body; null where it was too large, with what could be told of it. */
  end(): { readonly body: Buffer } | { readonly body: null; readonly gist: GistReader; readonly bytes: number };
}

/** Makes a collector for at most `maxBytes`. What is larger is followed up to `maxBufferBytes`. */
export function createBodyCollector(maxBytes: number, maxBufferBytes: number = MAX_BUFFER_BYTES): BodyCollector {
  return new Collector(maxBytes, maxBufferBytes);
}

/** A class, because there is one for every answer, and most come in one piece. */
class Collector implements BodyCollector {
  readonly #maxBytes: number;
  readonly #maxBufferBytes: number;
  #first: Buffer | null = null;
  #pieces: Pieces | null = null;
  #size = 0;
  #gist: GistReader | null = null;

  constructor(maxBytes: number, maxBufferBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxBufferBytes = maxBufferBytes;
  }

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#gist === null && this.#size > this.#maxBytes) {
      const reader = createGistReader();
      if (this.#first !== null) reader.push(this.#first);
      this.#pieces?.release((piece) => reader.push(piece));
      this.#first = this.#pieces = null;
      this.#gist = reader;
    }
    if (this.#gist !== null) this.#gist.push(chunk);
    else if (this.#pieces !== null) this.#pieces.push(chunk);
    else if (this.#first === null) this.#first = chunk;
    else {
      this.#pieces = createPieces();
      this.#pieces.push(this.#first);
      this.#pieces.push(chunk);
      this.#first = null;
    }
  }

  isHopeless(): boolean {
    return this.#size > this.#maxBytes && this.#size > this.#maxBufferBytes;
  }

  weight(): number {
    return this.#pieces?.weight ?? this.#first?.buffer.byteLength ?? 0;
  }

  end(): ReturnType<BodyCollector["end"]> {
    if (this.#gist !== null) return { body: null, gist: this.#gist, bytes: this.#size };
    return { body: this.#first ?? this.#pieces?.join() ?? NOTHING };
  }
}

const NOTHING = Buffer.alloc(0);

/** What a body belongs to. */
export interface BodyOptions {
  readonly seat: Seat;
  readonly exchange: Exchange;
  /** The calls it should answer. */
  readonly calls: readonly Call[];
  readonly status: number;
  /** Whether it says itself that it is JSON. */
  readonly isJson: boolean;
}

/**
 * Judges the body of a response, and gives back what becomes of it: at once, or when something has been waited for. Whoever
 * waits for it gets exactly one answer, whatever it is.
 */
export function judgeBody(
  collected: ReturnType<BodyCollector["end"]>,
  options: BodyOptions,
  give: (judged: JudgedBody) => void,
): void {
  const { seat, exchange, calls, status, isJson } = options;
  const { passage, session } = seat;
  const finish = (judged: JudgedBody): void => {
    // What was not answered here will not be answered anywhere.
    for (const call of calls) session.calls.up.close(call);
    give(judged);
  };
  if (collected.body === null) {
    const { onward } = passage.lose(collected.gist.end(), collected.bytes, "down", exchange);
    if (typeof onward === "string") return finish(refuse(options));
    return finish({ status: soundStatus(status), body: onward, origin: "ours" });
  }
  const { body } = collected;
  if (!isJson || body.length === 0 || isRedirect(status)) return finish(refuse(options));
  // What a server says to somebody who has to log in is not always a message.
  if ((status === 401 || status === 403) && isPlainObject(body)) return finish({ status, body, origin: "server" });
  passOn(passage, whole(body), "down", exchange, ({ onward }) => {
    // A message that answers nobody, where somebody waits for nothing else.
    const isNone = onward === "nothing" || calls.some((call) => session.calls.up.find(call.id.key) === call);
    if (isNone) finish(refuse(options));
    else if (onward === "untouched") finish({ status, body, origin: "server" });
    else
      finish({
        status,
        body: onward.equals(body) ? body : flatten(whole(onward)),
        origin: onward.equals(body) ? "server" : "changed",
      });
  });
}

function refuse({ seat, calls, status }: BodyOptions): JudgedBody {
  const error = status >= 300 ? refusedWith(status) : INVALID;
  // Whoever was told already by the way was told in vain: nothing of that reaches the client from here.
  const answers = calls.map((call) => seat.passage.giveUpOn(call, "up", error) ?? composeError(call.id, error));
  const body = composeBatch(answers) ?? composeError(null, error);
  return { status: soundStatus(status), body, origin: "ours" };
}

/** Whether somebody is sent elsewhere. Clients that followed would leave us behind. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

/** A success with a body that is none was no success. */
function soundStatus(status: number): number {
  return status >= 400 ? status : 502;
}

const MAX_REFUSAL_BYTES = 65_536;

function isPlainObject(body: Buffer): boolean {
  if (body.length > MAX_REFUSAL_BYTES) return false;
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) && !("jsonrpc" in value);
  } catch {
    return false;
  }
}
