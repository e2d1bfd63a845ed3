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

/** What can be told of a message that is not kept: whose it was, so that nobody waits in vain. */
export interface Gist {
  /** The id at the root, where there is exactly one and it is proper. */
  readonly id: Id | null;
  /** What it looks like: something that waits for an answer, an answer, or neither. */
  readonly like: "request" | "answer" | "neither";
}

/** Follows a message piece by piece without keeping it. */
export interface GistReader {
  push(bytes: Buffer): void;
  end(): Gist;
}

/** Takes a piece of a message that is too large to keep. `ends` with the last of it. */
export type Excess = (bytes: Buffer, ends: boolean) => void;

type Take = (bytes: Buffer) => void;

/** Bytes of a message that are followed, where nobody says otherwise. What is longer is given up before its end. */
export const MAX_BUFFER_BYTES = 20 * 1024 * 1024;

/**
 * Follows messages that are too large to keep, one after the other, and tells what can be told of each: when it ends, or
 * when `maxBytes` of it have come, because it may never end. `unwrap` makes of all that comes what belongs to the message,
 * where it does not come alone.
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
 * Reads the root's `id` and `method` out of a stream of bytes. It does not validate: nothing it
 * says lets a message pass, it only finds out who should be told that one did not.
 */
export function createGistReader(): GistReader {
  let depth = 0;
  let inString = false;
  let escaped = false;
  let atKey = false; // the next string at the root is a key
  let key = ""; // the key whose value is being read, at the root
  let word = ""; // the string or number being read, at the root, as latin1
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
          // Inside the strings below the root only their end matters.
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
    // Nothing has been validated yet, and what we echo has to be JSON.
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
