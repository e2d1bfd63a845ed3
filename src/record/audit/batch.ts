import { LF } from "../../message/characters.ts";
import type { AuditField } from "./fields.ts";
import type { Chain } from "./chain.ts";
import { isGap } from "./backlog.ts";
import { encodeClosing, encodeEvent, encodeGap, encodeOpening, type Entry, type Opening } from "./line.ts";

/** Lines that are written in one write. */
export interface Batch {
  readonly bytes: Buffer;
  /** Call with the number of bytes that were written. Returns the number of entries that are in the file. */
  settle(written: number): number;
}

/** Encodes records as lines and chains them. Records that were not written are taken back and encoded again. */
export interface Batcher {
  /** Whether there is something to write besides entries. */
  readonly isOwing: boolean;
  batch(entries: readonly Entry[]): Batch;
  /** The closing record. */
  closing(counts: { events: number; lost: number }): Batch;
}

/** Options of a batcher. */
export interface BatcherOptions {
  readonly chain: Chain;
  readonly opening: Omit<Opening, "time" | "torn">;
  /** The optional fields of records; all of them by default. */
  readonly fields?: ReadonlySet<AuditField> | undefined;
  /** Returns how many bytes of an unfinished line are at the end of the file. */
  readonly unfinished: () => number;
  readonly now: () => number;
}

/** Makes a batcher. */
export function createBatcher({ chain, opening, fields, unfinished, now }: BatcherOptions): Batcher {
  // The sizes of unfinished lines: left by us when the disk was full, or by a writer that died. The next complete
  // record lists them.
  let torn: number[] = [];

  function start(): string {
    // Another writer may have written after the unfinished line. Then this newline makes an empty line.
    const newline = torn.length > 0 ? "\n" : "";
    if (chain.length === 0) return newline + chain.add("open", encodeOpening({ ...opening, time: now(), torn }));
    if (torn.length === 0) return "";
    const gap = { lost: 0, from: now(), to: now(), reason: "torn" };
    return newline + chain.add("gap", encodeGap(gap, torn));
  }

  function make(entries: number, write: () => string): Batch {
    const before = { length: chain.length, mac: chain.mac };
    if (torn.length === 0) torn = [unfinished()].filter((count) => count > 0);
    const newlines = torn.length > 0 ? 1 : 0;
    const bytes = Buffer.from(start() + write());
    const own = chain.length - before.length - entries;
    return {
      bytes,
      settle(written) {
        if (written === bytes.length) {
          torn = [];
          return entries;
        }
        // A line that lacks only its newline is a complete record and will be read as one.
        const end = written > 0 && bytes[written] === LF ? written + 1 : written;
        const whole = end === 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1;
        const records = Math.max(0, countLines(bytes, whole) - newlines);
        const rest = end > written ? written - (bytes.lastIndexOf(LF, written - 1) + 1) : written - whole;
        if (records > 0) torn = rest > 0 ? [rest] : [];
        else if (written > 0 && torn.length < MAX_TORN) torn.push(written - newlines);
        // A line ends with its MAC, a quote, a brace and a newline.
        const mac = records > 0 ? bytes.toString("latin1", whole - 27, whole - 3) : before.mac;
        chain.rewind(before.length + records, mac);
        return Math.max(0, records - own);
      },
    };
  }

  return {
    get isOwing() {
      return chain.length === 0 || torn.length > 0;
    },
    batch: (entries) => make(entries.length, () => entries.map((entry) => encode(chain, entry, fields)).join("")),
    closing: (counts) => make(0, () => chain.add("close", encodeClosing({ time: now(), ...counts }))),
  };
}

/**
 * Each attempt on a full disk that writes a few bytes leaves one. Unfinished lines beyond this number are not listed.
 */
const MAX_TORN = 1000;

function encode(chain: Chain, entry: Entry, fields: BatcherOptions["fields"]): string {
  return isGap(entry) ? chain.add("gap", encodeGap(entry)) : chain.add("event", encodeEvent(entry, fields));
}

function countLines(bytes: Buffer, end: number): number {
  let lines = 0;
  for (let at = bytes.indexOf(LF); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) lines++;
  return lines;
}
