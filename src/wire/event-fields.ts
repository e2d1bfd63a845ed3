import { isAscii } from "node:buffer";

/** One event of an event stream, with all its bytes: from the end of the previous event to its own end. */
export interface EventFrame {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** The event's name. Null, which means "message", if it has none, or one that readers may read differently. */
  readonly name: string | null;
  /** The id to resume the stream from. Null if the event sets none, or one that readers may read differently. */
  readonly id: string | null;
  /** How long a client should wait before it reconnects, in milliseconds, if the event says so. */
  readonly retry: number | null;
  /** The data of the event. Null if it has none: a comment, a keep-alive, an event that only sets an id. */
  readonly data: EventData | null;
  /** Whether the event has a data line, even an empty one: some readers ignore the id of an event without one. */
  readonly hasDataLine: boolean;
  /**
   * Whether every reader reads these bytes as this event. Readers differ in where a line ends, in how they decode it
   * and in how they treat unknown fields, so that one reader may find a message where another finds none.
   */
  readonly isPlain: boolean;
}

/** The data of an event: part of a buffer. Several lines of data are joined with newlines. */
export interface EventData {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly ascii: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
const TAB = 0x09;
const COLON = 0x3a;
const SPACE = 0x20;
const TILDE = 0x7e;

/** Where the next LF or CR is, or -1. */
export function nextLineEnd(bytes: Buffer, at: number): number {
  while (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) at++;
  return at < bytes.length ? at : -1;
}

/**
 * Reads the fields of one complete event, by the rules of the HTML standard ("Interpreting an event stream"). They
 * begin at `begin`, which is after the byte order mark that a stream may start with.
 */
export function readEvent(bytes: Buffer, start: number, begin: number, end: number, hasCr: boolean): EventFrame {
  let name: string | null = null;
  let id: string | null = null;
  let retry: number | null = null;
  let dataStart = -1;
  let dataEnd = -1;
  let joined: Buffer | null = null; // the data, if it has more than one line
  let joinedEnd = 0;
  let hasWholeLine = false; // whether one of several data lines could be a message by itself
  let lf = -1; // the next LF, and below the next CR: kept between lines, because an event may have millions of them
  let cr = hasCr ? -1 : end;
  // If an event has no LF, the search for one must not continue to the end of the whole chunk.
  const within = hasCr ? bytes.subarray(0, end) : bytes;
  let seen = 0; // bits of the fields that were seen; each may occur only once
  // Only some readers skip a byte order mark.
  let isPlain = begin === start;
  for (let at = begin; at < end;) {
    if (lf < at) lf = indexIn(within, LF, at, end);
    if (cr < at) cr = indexIn(within, CR, at, end);
    const lineEnd = Math.min(lf, cr);
    const next = lineEnd === cr && lf === cr + 1 ? lf + 1 : lineEnd + 1;
    // A CR as the last byte of the event is fine: the code that forwards the event writes the LF after it.
    if (lineEnd === cr && lf !== cr + 1 && next < end) isPlain = false;
    const field = fieldAt(bytes, at, lineEnd);
    const colon = at + FIELD_LENGTHS[field];
    const hasColon = colon < lineEnd;
    const value = hasColon ? colon + (bytes[colon + 1] === SPACE && colon + 1 < lineEnd ? 2 : 1) : lineEnd;
    switch (field) {
      case DATA:
        if (dataStart >= 0) {
          if (joined === null) {
            joined = Buffer.allocUnsafe(end - begin);
            joinedEnd = bytes.copy(joined, 0, dataStart, dataEnd);
            hasWholeLine = looksWhole(bytes, dataStart, dataEnd);
          }
          joined[joinedEnd++] = LF;
          joinedEnd += bytes.copy(joined, joinedEnd, value, lineEnd);
          hasWholeLine ||= looksWhole(bytes, value, lineEnd);
        }
        dataStart = value;
        dataEnd = lineEnd;
        if (!hasColon) isPlain = false;
        break;
      case EVENT:
      case ID:
      case RETRY: {
        const text = isTidy(bytes, value, lineEnd) ? bytes.toString("latin1", value, lineEnd) : null;
        if (!hasColon || (seen & (1 << field)) !== 0 || text === null) isPlain = false;
        seen |= 1 << field;
        if (field === EVENT) name = text;
        else if (field === ID) id = text;
        else if (text !== null && /^\d{1,9}$/.test(text)) retry = Number(text);
        else isPlain = false;
        break;
      }
      case COMMENT:
        if (isPlain && !isPrintable(bytes, at, lineEnd)) isPlain = false;
        break;
      case NONE:
        if (lineEnd > at) isPlain = false;
    }
    at = next;
  }
  const data = joined === null ? dataOf(bytes, dataStart, dataEnd) : dataOf(joined, 0, joinedEnd);
  // Some readers treat an event without data like one with empty data, and act on its name.
  if (data === null ? name !== null && name !== "" && name !== "message" : hasWholeLine || breaksLines(data))
    isPlain = false;
  const hasDataLine = dataStart >= 0;
  return { bytes, start, end, name: name === "" ? null : name, id, retry, data, hasDataLine, isPlain };
}

// The known fields and the lengths of their names. Not an enum, because TypeScript cannot erase enums.
const NONE = 0;
const COMMENT = 1;
const DATA = 2;
const EVENT = 3;
const ID = 4;
const RETRY = 5;
const FIELD_LENGTHS = [0, 0, 4, 5, 2, 5] as const;

/** Which field a line is. After the name there must be a colon, or the end of the line. */
function fieldAt(bytes: Buffer, at: number, lineEnd: number): 0 | 1 | 2 | 3 | 4 | 5 {
  if (at >= lineEnd) return NONE;
  switch (bytes[at]) {
    case COLON:
      return COMMENT;
    case 0x64:
      return isField(bytes, at, lineEnd, "data") ? DATA : NONE;
    case 0x65:
      return isField(bytes, at, lineEnd, "event") ? EVENT : NONE;
    case 0x69:
      return isField(bytes, at, lineEnd, "id") ? ID : NONE;
    case 0x72:
      return isField(bytes, at, lineEnd, "retry") ? RETRY : NONE;
    default:
      return NONE;
  }
}

function isField(bytes: Buffer, at: number, lineEnd: number, name: string): boolean {
  const end = at + name.length;
  if (end > lineEnd || (end < lineEnd && bytes[end] !== COLON)) return false;
  for (let nth = 1; nth < name.length; nth++) if (bytes[at + nth] !== name.charCodeAt(nth)) return false;
  return true;
}

/** Whether there are only printable ASCII and tabs, which every reader decodes alike and does not end lines at. */
function isPrintable(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] < SPACE || bytes[at] > TILDE) && bytes[at] !== TAB) return false;
  return true;
}

/** Whether the text is printable and has no blanks around it, because some readers trim them. */
function isTidy(bytes: Buffer, start: number, end: number): boolean {
  if (start === end) return true;
  return isPrintable(bytes, start, end) && !isBlank(bytes[start]) && !isBlank(bytes[end - 1]);
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

// The only characters at which some readers end lines and which JSON strings may contain: U+0085, U+2028, U+2029.
const NEXT_LINE = Buffer.from("\u0085");
const SEPARATORS = ["\u2028", "\u2029"].map((text) => Buffer.from(text));
/** The bytes that both separators begin with. Cheap check first: most texts contain neither. */
const SEPARATOR_START = SEPARATORS[0].subarray(0, 2);

/** Whether the data contains a character at which some readers end lines. */
function breaksLines({ bytes, start, end, ascii }: EventData): boolean {
  if (ascii) return false;
  const part = bytes.subarray(start, end);
  if (part.includes(NEXT_LINE)) return true;
  return part.includes(SEPARATOR_START) && SEPARATORS.some((mark) => part.includes(mark));
}

/** Whether a line could be a JSON object or array by itself. Some readers treat each data line as a message. */
function looksWhole(bytes: Buffer, start: number, end: number): boolean {
  while (start < end && isBlank(bytes[start])) start++;
  while (end > start && isBlank(bytes[end - 1])) end--;
  const first = start < end ? bytes[start] : 0;
  return (first === 0x7b && bytes[end - 1] === 0x7d) || (first === 0x5b && bytes[end - 1] === 0x5d);
}

function dataOf(bytes: Buffer, start: number, end: number): EventData | null {
  if (start < 0 || start === end) return null;
  return { bytes, start, end, ascii: isAscii(bytes.subarray(start, end)) };
}

/** The offset of a byte between `at` and `end`, or `end` if it is not there. */
function indexIn(bytes: Buffer, byte: number, at: number, end: number): number {
  const index = bytes.indexOf(byte, at);
  return index < 0 || index > end ? end : index;
}

/**
 * Replaces the data of an event by other data, which must be one line. Its name, id and other fields stay. If `data` is
 * null, the name is removed, too, and the result may be empty.
 */
export function replaceData(frame: EventFrame, data: Buffer | null): Buffer {
  if (!frame.isPlain) return compose(frame, data);
  const { bytes, start, end } = frame;
  // One buffer, large enough for the result: an event may have millions of lines, and a Buffer for each costs too much.
  const replaced = Buffer.allocUnsafe(end - start + 1 + (data === null ? 0 : DATA_PREFIX.length + data.length + 1));
  let length = 0;
  let isPlaced = data === null;
  for (let at = start; at < end;) {
    const lineEnd = nextLineEnd(bytes, at);
    let next = lineEnd + 1;
    if (bytes[lineEnd] === CR && bytes[next] === LF && next < end) next++;
    const field = fieldAt(bytes, at, lineEnd);
    if (field === DATA) {
      if (!isPlaced && data !== null) {
        length += DATA_PREFIX.copy(replaced, length);
        length += data.copy(replaced, length);
        replaced[length++] = LF;
      }
      isPlaced = true;
    } else if (field !== EVENT || data !== null) length += bytes.copy(replaced, length, at, next);
    at = next;
  }
  if (bytes[end - 1] === CR) replaced[length++] = LF;
  return replaced.subarray(0, length);
}

/** Reduces an event without data, which readers may read differently, to its id and its retry time. */
export function cleanEvent(frame: EventFrame): Buffer {
  return compose(frame, frame.hasDataLine ? NOTHING : null);
}

/** Writes an event from its known fields only. */
function compose({ name, id, retry }: EventFrame, data: Buffer | null): Buffer {
  let fields = "";
  if (data !== null && data.length > 0 && name !== null) fields += `event: ${name}\n`;
  if (id !== null) fields += `id: ${id}\n`;
  if (retry !== null) fields += `retry: ${retry}\n`;
  if (data === null) return Buffer.from(fields === "" ? "" : `${fields}\n`);
  return Buffer.concat([Buffer.from(`${fields}data: `), data, AFTER]);
}

const NOTHING = Buffer.alloc(0);
const DATA_PREFIX = Buffer.from("data: ");
const AFTER = Buffer.from("\n\n");

/** Extracts the data from the chunks of events that are not kept, wherever the chunks were cut. */
export function pickData(take: (bytes: Buffer) => void): (bytes: Buffer) => void {
  let name: string | null = ""; // the field name at the start of a line, as far as it was read; null after the colon
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
