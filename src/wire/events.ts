import { isAscii } from "node:buffer";
import { createPieces } from "./pieces.ts";

/** One event of an event stream, with all its bytes: from the last event's end to its own. */
export interface EventFrame {
  readonly bytes: Buffer;
  readonly start: number;
  /** Where its fields begin: behind the mark that a stream may begin with. */
  readonly begin: number;
  readonly end: number;
  /** The event's name; null where it has none, which means "message". */
  readonly name: string | null;
  /** The id to take the stream up from; null where it sets none. */
  readonly id: string | null;
  /** How long to wait before the stream is asked for again, in milliseconds, where it says so. */
  readonly retry: number | null;
  /** What it carries; null where it carries nothing: a comment, a keep-alive, an event that only sets an id. */
  readonly data: EventData | null;
}

/** The data of an event: part of a buffer. Several lines of data are joined with newlines. */
export interface EventData {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly ascii: boolean;
}

/** What an event framer hands on. The frames, pieces and tail together, in order, are the stream. */
export interface EventSink {
  event(frame: EventFrame): void;
  /** A piece of an event that is over the limit and is not kept. `ends` with the last of it. */
  excess(bytes: Buffer, ends: boolean): void;
  /** What was left without a blank line when the stream ended. Such an event does not count. */
  tail(bytes: Buffer): void;
}

/** Cuts an event stream into events, however it arrives. Lines end with LF, CR or CRLF, also mixed. */
export interface EventFramer {
  push(chunk: Buffer): void;
  /** How much memory the event takes up that is not whole yet. */
  weight(): number;
  end(): void;
}

/** Makes a framer for events of at most `maxEventBytes`, all their lines counted. */
export function createEventFramer(maxEventBytes: number, sink: EventSink): EventFramer {
  const pieces = createPieces(); // of an event that has not ended yet
  let skipping = false;
  let atLineStart = true;
  let afterCr = false; // an LF that comes now belongs to the line end before it
  let isFirst = true; // only what begins a stream may begin with a BOM

  /** The end of the event in the chunk, or -1. */
  function findEnd(chunk: Buffer, from: number, hasCr: boolean): number {
    let at = from;
    while (at < chunk.length) {
      const byte = chunk[at];
      if (afterCr) {
        afterCr = false;
        if (byte === LF) {
          at++;
          continue;
        }
      }
      if (byte === LF || byte === CR) {
        afterCr = byte === CR;
        at++;
        if (!atLineStart) {
          atLineStart = true;
          continue;
        }
        // All of a CRLF belongs to the event: readers wait for the LF before they take it for whole.
        if (!afterCr || chunk[at] !== LF) return at;
        afterCr = false;
        return at + 1;
      }
      atLineStart = false;
      at = hasCr ? nextLineEnd(chunk, at) : chunk.indexOf(LF, at);
      if (at < 0) return -1;
    }
    return -1;
  }

  function giveUp(): void {
    skipping = true;
    pieces.release((piece) => sink.excess(piece, false));
  }

  function hand(bytes: Buffer, start: number, end: number, hasCr: boolean): void {
    const begin = isFirst ? start + bomLength(bytes, start) : start;
    isFirst = false;
    sink.event(readEvent(bytes, { start, begin, end }, hasCr));
  }

  return {
    push(chunk) {
      let start = 0;
      const hasCr = chunk.includes(CR); // once for all its events: looking for each would be quadratic
      if (afterCr && pieces.size === 0 && atLineStart && !skipping && chunk[0] === LF) {
        // The second half of a CRLF whose first half ended the last event: that has left, and this follows it.
        afterCr = false;
        start = 1;
        hand(chunk, 0, 1, false);
      }
      while (start < chunk.length) {
        const end = findEnd(chunk, start, hasCr);
        const size = (end < 0 ? chunk.length : end) - start;
        if (!skipping && pieces.size + size > maxEventBytes) giveUp();
        if (skipping) {
          sink.excess(chunk.subarray(start, end < 0 ? chunk.length : end), end >= 0);
          if (end >= 0) skipping = isFirst = false;
        } else if (end < 0) {
          pieces.push(start === 0 ? chunk : chunk.subarray(start));
        } else if (pieces.size === 0) hand(chunk, start, end, hasCr);
        else {
          pieces.push(chunk.subarray(start, end));
          const joined = pieces.join();
          hand(joined, 0, joined.length, joined.includes(CR));
        }
        if (end < 0) return;
        atLineStart = true;
        start = end;
      }
    },
    weight: () => pieces.weight,
    end() {
      if (pieces.size > 0) sink.tail(pieces.join());
    },
  };
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;

function nextLineEnd(chunk: Buffer, at: number): number {
  while (at < chunk.length && chunk[at] !== LF && chunk[at] !== CR) at++;
  return at < chunk.length ? at : -1;
}

function bomLength(bytes: Buffer, at: number): number {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf ? 3 : 0;
}

/** Reads the fields of one whole event, from where they begin. */
function readEvent(
  bytes: Buffer,
  { start, begin, end }: { readonly start: number; readonly begin: number; readonly end: number },
  hasCr: boolean,
): EventFrame {
  let name: string | null = null;
  let id: string | null = null;
  let retry: number | null = null;
  let dataStart = -1;
  let dataEnd = -1;
  let joined: Buffer | null = null; // where there is more than one line of data: all of them
  let joinedEnd = 0;
  let at = begin;
  while (at < end) {
    // Without CR there is an LF not far away. With CR there may be none, and looking for it in every line is quadratic.
    let lineEnd = hasCr ? nextLineEnd(bytes, at) : bytes.indexOf(LF, at);
    if (lineEnd < 0 || lineEnd >= end) lineEnd = end;
    const colon = fieldEnd(bytes, at, lineEnd);
    const value =
      bytes[colon] === COLON && colon < lineEnd
        ? colon + (bytes[colon + 1] === SPACE && colon + 1 < lineEnd ? 2 : 1)
        : lineEnd;
    const length = colon - at;
    if (length === 4 && bytes[at] === 0x64 && bytes.toString("latin1", at, colon) === "data") {
      if (dataStart >= 0) {
        if (joined === null) {
          joined = Buffer.allocUnsafe(end - begin); // a line of data is shorter than the line it stands in
          joinedEnd = bytes.copy(joined, 0, dataStart, dataEnd);
        }
        joined[joinedEnd++] = LF;
        joinedEnd += bytes.copy(joined, joinedEnd, value, lineEnd);
      }
      dataStart = value;
      dataEnd = lineEnd;
    } else if (length === 5 && bytes[at] === 0x65 && bytes.toString("latin1", at, colon) === "event") {
      name = bytes.toString("utf8", value, lineEnd);
    } else if (length === 2 && bytes.toString("latin1", at, colon) === "id")
      id = bytes.toString("utf8", value, lineEnd);
    else if (length === 5 && bytes[at] === 0x72 && bytes.toString("latin1", at, colon) === "retry") {
      const text = bytes.toString("latin1", value, Math.min(lineEnd, value + 10));
      if (/^\d{1,9}$/.test(text)) retry = Number(text);
    }
    at = lineEnd + 1;
  }
  const data = joined === null ? dataOf(bytes, dataStart, dataEnd) : dataOf(joined, 0, joinedEnd);
  return { bytes, start, begin, end, name: name === "" ? null : name, id, retry, data };
}

/** An event with other data: its name, id and all else stay as they were. */
export function replaceData({ bytes, start, begin, end }: EventFrame, data: Buffer | null): Buffer {
  const replaced = Buffer.allocUnsafe(end - start + (data === null ? 0 : DATA.length + data.length + 1));
  let length = bytes.copy(replaced, 0, start, begin);
  let isPlaced = data === null;
  let at = begin;
  while (at < end) {
    const lineEnd = nextLineEnd(bytes, at);
    let next = lineEnd < 0 ? end : lineEnd + 1;
    if (bytes[lineEnd] === CR && bytes[next] === LF && next < end) next++;
    const isData = bytes.toString("latin1", at, at + 5) === "data:" || bytes.toString("latin1", at, lineEnd) === "data";
    if (!isData) {
      // Without data there is nothing to name.
      if (data !== null || bytes.toString("latin1", at, at + 6) !== "event:")
        length += bytes.copy(replaced, length, at, next);
    } else if (!isPlaced && data !== null) {
      length += DATA.copy(replaced, length);
      length += data.copy(replaced, length);
      replaced[length++] = LF;
      isPlaced = true;
    }
    at = next;
  }
  return replaced.subarray(0, length);
}

const DATA = Buffer.from("data: ");

/** Picks the data out of the pieces of events that are not kept, however they were cut. */
export function pickData(take: (bytes: Buffer) => void): (bytes: Buffer) => void {
  let name: string | null = ""; // of the field at the start of a line, as far as it was read; null behind it
  let isData = false;
  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      if (name !== null) {
        const byte = bytes[at++];
        if (byte === LF || byte === CR) name = "";
        else if (byte === COLON) {
          isData = name === "data";
          name = null;
        } else if (name.length <= 4) name += String.fromCharCode(byte);
        continue;
      }
      const lineEnd = nextLineEnd(bytes, at);
      if (isData) take(bytes.subarray(at, lineEnd < 0 ? bytes.length : lineEnd));
      if (lineEnd < 0) return;
      name = "";
      at = lineEnd + 1;
    }
  };
}

function fieldEnd(bytes: Buffer, at: number, lineEnd: number): number {
  // Names of fields are short; a line without a colon nearby is not one we know.
  const limit = Math.min(lineEnd, at + 6);
  while (at < limit && bytes[at] !== COLON) at++;
  return at < limit ? at : lineEnd;
}

function dataOf(bytes: Buffer, start: number, end: number): EventData | null {
  if (start < 0 || start === end) return null;
  return { bytes, start, end, ascii: isAscii(bytes.subarray(start, end)) };
}
