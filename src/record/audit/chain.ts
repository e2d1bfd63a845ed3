import { createHmac, type KeyObject } from "node:crypto";
import { safeJson } from "../log/safe-json.ts";

/** The types of records: the first of a chain, a judged message, lost events or unfinished lines, and the last. */
type RecordType = "open" | "event" | "gap" | "close";

/**
 * The chain of one writer: the MAC of each record covers the record and the previous MAC, and so everything before it.
 */
export interface Chain {
  readonly log: string;
  /** The number of records. */
  readonly length: number;
  /** The MAC of the last record. */
  readonly mac: string;
  /** Adds a record, and returns its line. `members` is JSON without the braces. */
  add(type: RecordType, members: string): string;
  /** Takes back records that were not written to the file. */
  rewind(length: number, mac: string): void;
}

/** Starts a chain. */
export function createChain(key: KeyObject, log: string): Chain {
  let length = 0;
  let mac = "";
  return {
    log,
    get length() {
      return length;
    },
    get mac() {
      return mac;
    },
    add(type, members) {
      const body = `{"log":"${log}","seq":${length},"type":"${type}",${members}`;
      mac = computeMac(key, mac, body);
      length++;
      return closeLine(body, mac);
    },
    rewind(toLength, toMac) {
      length = toLength;
      mac = toMac;
    },
  };
}

/** A record in a file. Its content must not be trusted before its MAC has been checked. */
export interface RecordLine {
  readonly log: string;
  readonly seq: number;
  readonly type: RecordType;
  readonly mac: string;
  /** The bytes that the MAC covers. */
  readonly body: Buffer;
}

/** Parses a line without its newline; null if it is not a record. */
export function parseRecord(line: Buffer): RecordLine | null {
  const mac = readMac(line);
  if (mac === null) return null;
  const match = START.exec(line.toString("latin1", 0, MAX_START));
  if (match === null) return null;
  return {
    log: match[1],
    seq: Number(match[2]),
    type: match[3] as RecordType,
    mac,
    body: line.subarray(0, line.length - END_LENGTH),
  };
}

/**
 * Encodes an object inside a record. If it begins like a record, a space is inserted so that it cannot be taken for
 * one.
 */
export function encodeObject(value: object): string {
  return safeJson(value).replaceAll(RECORD_START, `{ ${RECORD_START.slice(1)}`);
}

/** The MAC at the end of a line without its newline; null if there is none. */
export function readMac(line: Buffer): string | null {
  return END.exec(line.toString("latin1", Math.max(0, line.length - END_LENGTH)))?.[1] ?? null;
}

/** Computes the MAC of a body that follows the previous MAC. */
export function computeMac(key: KeyObject, previous: string, body: string | Buffer): string {
  const hmac = createHmac("sha256", key);
  if (typeof body === "string") hmac.update(previous + body);
  else hmac.update(previous).update(body);
  return hmac.digest("base64url").slice(0, MAC_LENGTH);
}

/** A body and its MAC as a line. */
export function closeLine(body: string, mac: string): string {
  return `${body},"mac":"${mac}"}\n`;
}

/**
 * The start of a record. It appears nowhere else, because quotes in strings are escaped and objects inside a record
 * begin differently.
 */
export const RECORD_START = '{"log":"';

// 144 bits: a multiple of six, so that no base64url character has unused bits.
const MAC_LENGTH = 24;
const END_LENGTH = MAC_LENGTH + ',"mac":""}'.length;
const END = /^,"mac":"([\w-]{24})"\}$/;
const START = /^\{"log":"([\w-]{16})","seq":(0|[1-9]\d{0,14}),"type":"(open|event|gap|close)",/;
const MAX_START = 80;
