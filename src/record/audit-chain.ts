import { createHmac, type KeyObject } from "node:crypto";
import { safeJson } from "./safe-json.ts";

/** The kinds of records: the first of a chain, a judged message, something that is not there, the last. */
type RecordType = "open" | "event" | "gap" | "close";

/** A writer's chain: each record's mac covers the record and the mac before it, and so all that came before. */
export interface Chain {
  readonly log: string;
  /** How many records there are. */
  readonly length: number;
  /** The mac of the last one. */
  readonly mac: string;
  /** Adds a record, and returns its line. `members` is JSON without the braces. */
  add(type: RecordType, members: string): string;
  /** Takes back what never reached the file. */
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

/** A record as it stands in a file. What it says is not to be believed until its mac has been checked. */
export interface RecordLine {
  readonly log: string;
  readonly seq: number;
  readonly type: RecordType;
  readonly mac: string;
  /** All that the mac covers. */
  readonly body: Buffer;
}

/** Reads a line, without its newline; null where it is no record. */
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

/** An object inside a record. Where one begins as records do, a space keeps it from being taken for one. */
export function encodeObject(value: object): string {
  return safeJson(value).replaceAll(RECORD_START, `{ ${RECORD_START.slice(1)}`);
}

/** The mac at the end of a line, without its newline; null where there is none. */
export function readMac(line: Buffer): string | null {
  return END.exec(line.toString("latin1", Math.max(0, line.length - END_LENGTH)))?.[1] ?? null;
}

/** A mac over a text that rests on the mac before. */
export function computeMac(key: KeyObject, previous: string, body: string | Buffer): string {
  const hmac = createHmac("sha256", key);
  if (typeof body === "string") hmac.update(previous + body);
  else hmac.update(previous).update(body);
  return hmac.digest("base64url").slice(0, MAC_LENGTH);
}

/** A body with its mac, as a line. */
export function closeLine(body: string, mac: string): string {
  return `${body},"mac":"${mac}"}\n`;
}

/**
 * Where a record starts. Quotes in strings are escaped, and objects inside a record are written in another way, so this
 * stands nowhere else.
 */
export const RECORD_START = '{"log":"';

// 144 bits. A multiple of six, so that no character has bits that mean nothing.
const MAC_LENGTH = 24;
const END_LENGTH = MAC_LENGTH + ',"mac":""}'.length;
const END = /^,"mac":"([\w-]{24})"\}$/;
const START = /^\{"log":"([\w-]{16})","seq":(0|[1-9]\d{0,14}),"type":"(open|event|gap|close)",/;
const MAX_START = 80;
