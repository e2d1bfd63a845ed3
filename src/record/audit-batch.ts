import { LF } from "../message/characters.ts";
import type { AuditField } from "../policy/audit-fields.ts";
import type { Chain } from "./audit-chain.ts";
import { isGap } from "./audit-backlog.ts";
import { encodeClosing, encodeEvent, encodeGap, encodeOpening, type Entry, type Opening } from "./audit-line.ts";

/** Lines that leave in one write. */
export interface Batch {
  readonly bytes: Buffer;
  /** What became of it: `written` bytes of it are in the file. Returns the entries that are. */
  settle(written: number): number;
}

/** Puts records into lines and chains them. What was not written is taken back and put into other lines. */
export interface Batcher {
  /** Whether there is something to write besides entries. */
  readonly isOwing: boolean;
  batch(entries: readonly Entry[]): Batch;
  /** The last line. */
  closing(counts: { events: number; lost: number }): Batch;
}

/** How a batcher is made. */
export interface BatcherOptions {
  readonly chain: Chain;
  readonly opening: Omit<Opening, "time" | "torn">;
  /** What records say beside what every record has; all of it, unless said otherwise. */
  readonly fields?: ReadonlySet<AuditField> | undefined;
  /** Says how many bytes of an unfinished line are at the end of the file. */
  readonly unfinished: () => number;
  readonly now: () => number;
}

/** Makes a batcher. */
export function createBatcher({ chain, opening, fields, unfinished, now }: BatcherOptions): Batcher {
  // Lines that were begun and not finished, by their bytes: by us when the disk was full, or by a writer that died.
  // The next whole record accounts for them.
  let torn: number[] = [];

  function start(): string {
    // Another writer may have gone on where the unfinished line ends. Then this newline makes an empty line.
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
        // A line that lacks nothing but its newline is a whole record, and as such it will be read.
        const end = written > 0 && bytes[written] === LF ? written + 1 : written;
        const whole = end === 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1;
        const records = Math.max(0, countLines(bytes, whole) - newlines);
        const rest = end > written ? written - (bytes.lastIndexOf(LF, written - 1) + 1) : written - whole;
        if (records > 0) torn = rest > 0 ? [rest] : [];
        else if (written > 0 && torn.length < MAX_TORN) torn.push(written - newlines);
        // A line ends with its mac, a quote, a brace and a newline.
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

/** Each attempt on a full disk that takes a few bytes leaves one; beyond that many they are not accounted for. */
const MAX_TORN = 1000;

function encode(chain: Chain, entry: Entry, fields: BatcherOptions["fields"]): string {
  return isGap(entry) ? chain.add("gap", encodeGap(entry)) : chain.add("event", encodeEvent(entry, fields));
}

function countLines(bytes: Buffer, end: number): number {
  let lines = 0;
  for (let at = bytes.indexOf(LF); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) lines++;
  return lines;
}
