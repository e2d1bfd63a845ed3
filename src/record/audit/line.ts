import { AUDIT_FIELDS, type AuditField } from "./fields.ts";
import { encodeObject } from "./chain.ts";
import type { AuditEvent } from "../event.ts";
import { safeJson } from "../log/safe-json.ts";

/** The format version that is written. Version 1 had neither circumstances nor logins. */
const AUDIT_VERSION = 2;

/** The versions that can be verified. They all chain records in the same way. */
export const KNOWN_VERSIONS: readonly unknown[] = [1, AUDIT_VERSION];

/** The end of another writer's chain: its log id, and the number and MAC of its last record. */
export type Seal = readonly [log: string, seq: number, mac: string];

/** The content of the first record of a chain. */
export interface Opening {
  readonly time: number;
  readonly key: string;
  readonly seals: readonly Seal[];
  readonly torn: readonly number[];
}

/** Events that are not in the log, and why. */
export interface Gap {
  readonly lost: number;
  /** When the first and the last of them would have been written. */
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** An entry that waits to be written: an event, or a gap for lost events. */
export type Entry = AuditEvent | Gap;

/** The members of an opening record. */
export function encodeOpening({ time, key, seals, torn }: Opening): string {
  return `"time":${stamp(time)},"version":${AUDIT_VERSION},"key":"${key}","seals":${JSON.stringify(seals)}${tear(torn)}`;
}

const ALL_FIELDS: ReadonlySet<AuditField> = new Set(AUDIT_FIELDS);

/** The members of the record for one judged message. Circumstances are included if they are known and wanted. */
export function encodeEvent(event: AuditEvent, fields = ALL_FIELDS): string {
  return (
    `"time":${stamp(event.time)},"session":${text(event.session)},"direction":"${event.direction}",` +
    `"kind":"${event.kind}","method":${text(event.method)},` +
    `"tool":${text(event.tool)},${event.cut === null ? "" : `"cut":${event.cut},`}` +
    `"id":${readableId(event.id)},"bytes":${event.bytes},"class":"${event.class}","verdict":"${event.verdict}",` +
    `"rule":${text(event.rule)},"note":${text(event.note)},"latency":${round(event.latency)},"sent":${event.sent}` +
    encodeCircumstances(event, fields)
  );
}

function encodeCircumstances(event: AuditEvent, fields: ReadonlySet<AuditField>): string {
  const { identity, client, server, mcpSession, policy, reason, metadata, status, address, times } = event;
  let members = "";
  if (identity !== null && fields.has("identity")) members += `,"identity":${text(identity)}`;
  if (client !== null && fields.has("client")) {
    members += `,"client":{"name":${text(client.name)},"version":${text(client.version)}}`;
  }
  if (server !== null && fields.has("server")) members += `,"server":${text(server)}`;
  if (mcpSession !== null && fields.has("mcp_session")) members += `,"mcp_session":${text(mcpSession)}`;
  if (policy !== null && fields.has("policy")) members += `,"policy":${text(policy)}`;
  if (reason !== null && fields.has("reason")) members += `,"reason":${text(reason)}`;
  if (metadata !== null && fields.has("metadata")) members += `,"metadata":${encodeObject(metadata)}`;
  if (status !== null) members += `,"status":${status}`;
  if (address !== null) members += `,"address":${text(address)}`;
  if (times !== null) members += `,"times":${times}`;
  return members;
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

/** The sizes of the unfinished lines that were left before a record. */
function tear(torn: readonly number[]): string {
  return torn.length === 0 ? "" : `,"torn":[${torn.join(",")}]`;
}

function stamp(time: number): string {
  return `"${new Date(time).toISOString()}"`;
}

function round(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 1000) / 1000;
}

/** The id as a JSON number or string. It is given as JSON bytes. */
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

// The usual case: a text without anything to escape.
const PLAIN = /^[ !#-[\]-~]*$/;
