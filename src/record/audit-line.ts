import type { AuditEvent } from "./event.ts";
import { safeJson } from "./safe-json.ts";

/** The version of the format. */
export const AUDIT_VERSION = 1;

/** What one writer vouches for of another: its log, its last record's number and mac. */
export type Seal = readonly [log: string, seq: number, mac: string];

/** What the first record of a chain says. */
export interface Opening {
  readonly time: number;
  readonly key: string;
  readonly seals: readonly Seal[];
  readonly torn: readonly number[];
}

/** What is not in the log, and why. */
export interface Gap {
  readonly lost: number;
  /** When the first and the last of them would have been written. */
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** What waits to be written: a judged message, or that some were lost here. */
export type Entry = AuditEvent | Gap;

/** The members of an opening record. */
export function encodeOpening({ time, key, seals, torn }: Opening): string {
  return `"time":${stamp(time)},"version":${AUDIT_VERSION},"key":"${key}","seals":${JSON.stringify(seals)}${tear(torn)}`;
}

/** The members of the record of one judged message. */
export function encodeEvent(event: AuditEvent): string {
  return (
    `"time":${stamp(event.time)},"session":${text(event.session)},"direction":"${event.direction}",` +
    `"kind":"${event.kind}","method":${text(event.method)},` +
    `"tool":${text(event.tool)},${event.cut === null ? "" : `"cut":${event.cut},`}` +
    `"id":${readableId(event.id)},"bytes":${event.bytes},"class":"${event.class}","verdict":"${event.verdict}",` +
    `"rule":${text(event.rule)},"note":${text(event.note)},"latency":${round(event.latency)},"sent":${event.sent}`
  );
}

/** The members of a gap. */
export function encodeGap(gap: Gap, torn: readonly number[] = []): string {
  const { lost, from, to, reason } = gap;
  return `"lost":${lost},"from":${stamp(from)},"to":${stamp(to)},"reason":${text(reason)}${tear(torn)}`;
}

/** The members of a closing record. */
export function encodeClosing(closing: { time: number; events: number; lost: number }): string {
  return `"time":${stamp(closing.time)},"events":${closing.events},"lost":${closing.lost}`;
}

/** The unfinished lines that were left before a record, by their bytes. */
function tear(torn: readonly number[]): string {
  return torn.length === 0 ? "" : `,"torn":[${torn.join(",")}]`;
}

function stamp(time: number): string {
  return `"${new Date(time).toISOString()}"`;
}

function round(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 1000) / 1000;
}

/** The id as a value: a number, or a text. It comes as JSON, byte for byte. */
function readableId(spelled: string | null): string {
  if (spelled === null || INTEGER.test(spelled)) return String(spelled);
  try {
    return text(JSON.parse(Buffer.from(spelled, "latin1").toString("utf8")) as string);
  } catch {
    return text(spelled);
  }
}

const INTEGER = /^-?(?:0|[1-9]\d*)$/;

function text(value: string | null): string {
  if (value === null) return "null";
  return PLAIN.test(value) ? `"${value}"` : safeJson(value);
}

// Most texts: nothing in them to escape.
const PLAIN = /^[ !#-[\]-~]*$/;
