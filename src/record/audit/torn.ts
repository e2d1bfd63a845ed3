import { BACKSLASH, QUOTE } from "../../message/characters.ts";
import { RECORD_START } from "./chain.ts";

/**
 * Whether a text is the unfinished beginning of a record, in a chain whose next record has this number. Such a text has
 * no MAC, so a text that could be taken for a complete record does not count.
 */
export function isBegun(text: Buffer, nextSeq: (log: string) => number): boolean {
  const start = text.toString("latin1", 0, MAX_START);
  const log = LOG.exec(start)?.[1];
  if (log === undefined) return RECORD_START.startsWith(start) || NAMELESS.test(start);
  const seq = nextSeq(log);
  const types = seq === 0 ? ["open"] : ["event", "gap", "close"];
  const isNext = types
    .map((type) => `{"log":"${log}","seq":${seq},"type":"${type}",`)
    .some((begin) => start.startsWith(begin) || (text.length < begin.length && begin.startsWith(start)));
  return isNext && !isClosed(text);
}

const MAX_START = 80;
const LOG = /^\{"log":"([\w-]{16})"/;

/** Too short to tell which chain it belongs to. */
const NAMELESS = /^\{"log":"[\w-]{0,16}$/;

/** Whether the text contains the end of the object that it begins. */
function isClosed(text: Buffer): boolean {
  let isInString = false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === QUOTE) isInString = !isInString;
    else if (byte === BACKSLASH && isInString) at++;
    else if (byte === OPENING_BRACE && !isInString) depth++;
    else if (byte === CLOSING_BRACE && !isInString && --depth <= 0) return true;
  }
  return false;
}

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
