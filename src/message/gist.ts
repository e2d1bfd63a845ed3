import { isUtf8 } from "node:buffer";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  CR,
  LF,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  TAB,
} from "./characters.ts";
import { MAX_ID_BYTES, readId, type Id } from "./id.ts";

/** What is known of a message that was not kept: enough to send an error response, so that no peer waits forever. */
export interface Gist {
  /** The id of the message, if it has exactly one and that is valid. */
  readonly id: Id | null;
  /** What the message looks like: a request (`request`), a response (`answer`), or neither. */
  readonly like: "request" | "answer" | "neither";
}

/** Reads a message chunk by chunk without keeping it. */
export interface GistReader {
  push(bytes: Buffer): void;
  end(): Gist;
}

/** Takes a chunk of a message that is too large to keep. `ends` is true for its last chunk. */
export type Excess = (bytes: Buffer, ends: boolean) => void;

type Take = (bytes: Buffer) => void;

/** Default for how many bytes of a message are read. The proxy stops reading a longer one before its end. */
export const MAX_BUFFER_BYTES = 20 * 1024 * 1024;

/**
 * Reads messages that are too large to keep, one after the other. Calls `onEnd` once for each: when it ends, or when
 * more than `maxBytes` of it have arrived, because it may never end. `unwrap` extracts the bytes of the message from
 * the chunks where a transport wraps them.
 */
export function createExcess(
  onEnd: (gist: Gist, bytes: number) => void,
  maxBytes: number = MAX_BUFFER_BYTES,
  unwrap: (take: Take) => Take = (take) => take,
): Excess {
  let reader: GistReader | null = null;
  let size = 0;
  let isGivenUp = false;
  const push = unwrap((bytes) => {
    if (isGivenUp) return;
    reader ??= createGistReader();
    reader.push(bytes);
  });
  return (bytes, ends) => {
    push(bytes);
    size += bytes.length;
    const isOver = ends || size > maxBytes;
    const followed = isOver && !isGivenUp ? { gist: (reader ?? createGistReader()).end(), size } : null;
    isGivenUp = isOver && !ends;
    if (isOver) reader = null;
    if (ends) size = 0;
    if (followed !== null) onEnd(followed.gist, followed.size);
  };
}

/**
 * Finds `id`, and whether there is a `method`, `result` or `error`, at the top level of a message. It does not
 * validate: the gist never lets a message pass, it only tells which request has to be answered because a message did
 * not pass.
 */
export function createGistReader(): GistReader {
  let depth = 0;
  let inString = false;
  let escaped = false;
  let atKey = false; // the next string at the top level is a key
  let key = ""; // the top-level key whose value is being read
  let word = ""; // the top-level string or number that is being read, as latin1
  let began = false;
  let isObject = false;
  let hasMethod = false;
  let hasOutcome = false; // a result or an error
  let hasId = false;
  let ids = 0;
  let token = "";

  function endWord(): void {
    if (key === "id" && word !== "") {
      ids++;
      token = word;
    }
    word = "";
  }

  function take(byte: number): void {
    if (word.length <= MAX_ID_BYTES) word += String.fromCharCode(byte);
  }

  function step(byte: number): void {
    if (inString) {
      if (depth === 1) take(byte);
      if (escaped) escaped = false;
      else if (byte === BACKSLASH) escaped = true;
      else if (byte === QUOTE) {
        inString = false;
        if (depth === 1 && atKey) {
          key = unquote(word);
          word = "";
          atKey = false;
          if (key === "method") hasMethod = true;
          else if (key === "result" || key === "error") hasOutcome = true;
          else if (key === "id") hasId = true;
        }
      }
      return;
    }
    switch (byte) {
      case QUOTE:
        inString = true;
        if (depth === 1) take(byte);
        return;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (!began) {
          isObject = byte === OPEN_OBJECT;
          atKey = isObject;
        }
        began = true;
        depth++;
        return;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        if (depth === 1) endWord();
        depth--;
        return;
      case COMMA:
        if (depth === 1) {
          endWord();
          key = "";
          atKey = isObject;
        }
        return;
      case COLON:
      case SPACE:
      case TAB:
      case CR:
      case LF:
        return;
      default:
        began = true;
        if (depth === 1) take(byte);
    }
  }

  return {
    push(bytes) {
      for (let at = 0; at < bytes.length; at++) {
        if (inString && depth !== 1 && !escaped) {
          // In a string below the top level only its end matters.
          const byte = bytes[at];
          if (byte !== QUOTE && byte !== BACKSLASH) continue;
        }
        step(bytes[at]);
      }
    },
    end() {
      const bytes = Buffer.from(token, "latin1");
      const isCertain = isObject && ids === 1 && isUtf8(bytes);
      const id = (isCertain ? readTrusted(bytes) : undefined) ?? null;
      if (hasOutcome && !hasMethod) return { id, like: "answer" };
      return { id, like: hasId || !isObject ? "request" : "neither" };
    },
  };
}

function readTrusted(bytes: Buffer): Id | undefined {
  try {
    // The bytes have not been validated yet, and the id in a response must be valid JSON.
    JSON.parse(bytes.toString("utf8"));
    return readId(bytes, 0, bytes.length);
  } catch {
    return undefined;
  }
}

function unquote(word: string): string {
  try {
    return String(JSON.parse(word));
  } catch {
    return "";
  }
}
