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

/** What is sent to a client in place of a server's body. */
export interface JudgedBody {
  readonly status: number;
  readonly body: Buffer;
  /**
   * "server": the server's body, byte for byte. "changed": the server's body, changed. "ours": composed by the proxy.
   */
  readonly origin: "server" | "changed" | "ours";
}

/** Collects a body up to a size limit. */
export interface BodyCollector {
  push(chunk: Buffer): void;
  /** Whether the body has passed the limit after which the proxy stops reading it. It may never end. */
  isHopeless(): boolean;
  /** How many bytes of memory it uses now. */
  weight(): number;
  /** The whole body; or null for a body that was too large, with what could be read of it. */
  end(): { readonly body: Buffer } | { readonly body: null; readonly gist: GistReader; readonly bytes: number };
}

/** Makes a collector that keeps at most `maxBytes`. A larger body is read up to `maxBufferBytes` without being kept. */
export function createBodyCollector(maxBytes: number, maxBufferBytes: number = MAX_BUFFER_BYTES): BodyCollector {
  return new Collector(maxBytes, maxBufferBytes);
}

/** A class, because one is made for every response and most responses arrive in one chunk. */
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

/** The response that a body belongs to. */
export interface BodyOptions {
  readonly seat: Seat;
  readonly exchange: Exchange;
  /** The calls it should answer. */
  readonly calls: readonly Call[];
  readonly status: number;
  /** Whether its Content-Type is JSON. */
  readonly isJson: boolean;
}

/**
 * Judges the body of a response and passes the result to `give`: at once, or later if a rule has to wait. Each of the
 * calls gets exactly one response.
 */
export function judgeBody(
  collected: ReturnType<BodyCollector["end"]>,
  options: BodyOptions,
  give: (judged: JudgedBody) => void,
): void {
  const { seat, exchange, calls, status, isJson } = options;
  const { passage, session } = seat;
  const finish = (judged: JudgedBody): void => {
    // A call that this body does not answer will not be answered anywhere else.
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
  // The body of a 401 or 403 is often an OAuth error, which is not a JSON-RPC message.
  if ((status === 401 || status === 403) && isPlainObject(body)) return finish({ status, body, origin: "server" });
  passOn(passage, whole(body), "down", exchange, ({ onward }) => {
    // The message does not answer the calls that this response belongs to.
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
  // Responses that the proxy composed earlier for these calls were not sent, so compose them again.
  const answers = calls.map((call) => seat.passage.giveUpOn(call, "up", error) ?? composeError(call.id, error));
  const body = composeBatch(answers) ?? composeError(null, error);
  return { status: soundStatus(status), body, origin: "ours" };
}

/** Whether a status is a redirect. A client that followed it would bypass the proxy. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

/** A success status with a body that is not valid becomes 502. */
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
