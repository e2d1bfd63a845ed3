import { isUtf8 } from "node:buffer";
import type { NotificationEnvelope, RequestEnvelope, Span } from "../message/envelope.ts";
import { readString } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import { readText } from "../message/text.ts";
import { FIRST_STATELESS } from "./era.ts";
import type { Mirrored } from "./exchange.ts";

/**
 * Whether the headers of a request say what its body says. Whoever routes or filters by the headers
 * must not see another message than the server does. `claim` is where the body says its revision.
 */
export function agrees(
  { bytes }: Message,
  envelope: RequestEnvelope | NotificationEnvelope,
  { version, method, name }: Mirrored,
  claim: Span | null,
): boolean {
  if (method !== null && method !== envelope.method.name) return false;
  const subject = "subject" in envelope ? envelope.subject : null;
  if (name !== null) {
    if (subject === null || decodeHeader(name) !== readText(bytes, subject.start + 1, subject.end - 1)) return false;
  }
  if (envelope.kind !== "request") return true;
  const claimed = readString(bytes, claim);
  // What claims nothing is of the older era, which has no such headers; an odd header is for the server to refuse.
  if (claimed === null) return true;
  if (claimed < FIRST_STATELESS) return version === null || version === claimed;
  const needsName = subject !== null && NAMED.has(envelope.method.name);
  return version === claimed && method !== null && (!needsName || name !== null);
}

const NAMED = new Set(["tools/call", "prompts/get", "resources/read", "tasks/get", "tasks/update", "tasks/cancel"]);

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/** The text that a header stands for: as it is, or in base64 where it could not stand so. Null where it is neither. */
function decodeHeader(value: string): string | null {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return PLAIN.test(value) ? value : null;
  const coded = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(coded, "base64");
  return bytes.toString("base64") === coded && isUtf8(bytes) ? bytes.toString("utf8") : null;
}

/** A text as it can stand in a header. */
export function encodeHeader(text: string): string {
  const isPlain = PLAIN.test(text) && text === text.trim() && !(text.startsWith(PREFIX) && text.endsWith(SUFFIX));
  return isPlain ? text : `${PREFIX}${Buffer.from(text).toString("base64")}${SUFFIX}`;
}

const PLAIN = /^[\t\x20-\x7e]*$/;
