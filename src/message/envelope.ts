import { BACKSLASH, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./characters.ts";
import type { Fault } from "./faults.ts";
import { createGistReader } from "./gist.ts";
import { readId, type Id } from "./id.ts";
import { SLOT } from "./keys.ts";
import { describeMethod, findMethod, MAX_METHOD_BYTES, type Method } from "./methods.ts";
import type { Payload, Span } from "./payload.ts";
import { scan, type Scan } from "./scan.ts";
import { readText } from "./text.ts";

export type { Span } from "./payload.ts";

/** A request: its sender waits for a response. */
export interface RequestEnvelope {
  readonly kind: "request";
  readonly id: Id;
  readonly method: Method;
  readonly params: Span | null;
  /** The value of the param that names what the request is about, if its method has one: a string with its quotes. */
  readonly subject: Span | null;
  /** The value of `_meta` in its params, if that is an object. */
  readonly meta: Span | null;
}

/** A notification: it has no response. */
export interface NotificationEnvelope {
  readonly kind: "notification";
  readonly method: Method;
  readonly params: Span | null;
}

/** A successful response. */
export interface ResultEnvelope {
  readonly kind: "result";
  readonly id: Id;
  readonly result: Span;
}

/** An error response. Without an id it means that the sender could not read a message. */
export interface ErrorEnvelope {
  readonly kind: "error";
  readonly id: Id | null;
  readonly error: Span;
}

/** Several messages in one array. Each is opened on its own. */
export interface BatchEnvelope {
  readonly kind: "batch";
}

/** A message that cannot be read, or can be read in more than one way. `id` is set only if it is certain. */
export interface OpaqueEnvelope {
  readonly kind: "opaque";
  readonly fault: Fault;
  readonly id: Id | null;
  /** What the message looks like: a request (`request`), a response (`answer`), or neither. */
  readonly like: "request" | "answer" | "neither";
  /** Where an invalid id is, to find out which request this response was meant for. */
  readonly oddId: Span | null;
}

/** What kind of message this is, and where its members are. */
export type Envelope =
  | RequestEnvelope
  | NotificationEnvelope
  | ResultEnvelope
  | ErrorEnvelope
  | BatchEnvelope
  | OpaqueEnvelope;

/** Reads the envelope of one message. Never throws: an unreadable message gets an `opaque` envelope. */
export function readEnvelope(payload: Payload, breaks: "allow" | "refuse", maxDepth?: number): Envelope {
  const { bytes } = payload;
  const found = scan(payload, maxDepth);
  const { fault, spans } = found;
  if (fault === "not-json" || fault === "not-utf8" || fault === "too-deep") return glance(payload, fault);
  if (found.opens === OPEN_OBJECT) {
    const idStart = spans[2 * SLOT.id];
    const id = idStart >= 0 && !found.idInDoubt ? readId(bytes, idStart, spans[2 * SLOT.id + 1]) : undefined;
    const read = fault ?? readObject(bytes, found, id, breaks);
    if (typeof read !== "string") return read;
    return opaque(read, id ?? null, likeness(found), id === undefined && idStart >= 0 ? spanOf(found, SLOT.id) : null);
  }
  if (fault !== null) return opaque(fault, null, "request", null);
  if (found.opens !== OPEN_ARRAY) return opaque("not-an-object", null, "request", null);
  return found.breaks && breaks === "refuse" ? opaque("carriage-return", null, "request", null) : BATCH;
}

function readObject(bytes: Buffer, found: Scan, id: Id | undefined, breaks: "allow" | "refuse"): Envelope | Fault {
  const { spans } = found;
  if (found.breaks && breaks === "refuse") return "carriage-return";
  const version = spans[2 * SLOT.jsonrpc];
  if (version < 0 || !isVersion(bytes, version, spans[2 * SLOT.jsonrpc + 1])) return "bad-version";
  const hasId = spans[2 * SLOT.id] >= 0;
  const isResult = spans[2 * SLOT.result] >= 0;
  const isError = spans[2 * SLOT.error] >= 0;
  const methodStart = spans[2 * SLOT.method];
  if (methodStart < 0) {
    if (isResult === isError || !hasId) return "ambiguous";
    // The id of an error response may be null: its sender could not read the id of the request.
    if (id === undefined && (isResult || bytes[spans[2 * SLOT.id]] !== NULL)) return "bad-id";
    if (isError) return { kind: "error", id: id ?? null, error: spanOf(found, SLOT.error) };
    return id === undefined ? "bad-id" : { kind: "result", id, result: spanOf(found, SLOT.result) };
  }
  if (isResult || isError) return "ambiguous";
  if (hasId && id === undefined) return "bad-id";
  const method = readMethod(bytes, methodStart, spans[2 * SLOT.method + 1], hasId);
  if (typeof method === "string") return method;
  const paramsStart = spans[2 * SLOT.params];
  let params: Span | null = null;
  let subject: Span | null = null;
  let meta: Span | null = null;
  if (paramsStart >= 0) {
    if (bytes[paramsStart] === OPEN_OBJECT) params = spanOf(found, SLOT.params);
    else if (bytes[paramsStart] !== NULL) return "bad-params";
    if (method.subject !== null && spans[2 * SLOT[method.subject]] >= 0) {
      subject = spanOf(found, SLOT[method.subject]);
      const wrong = checkSubject(bytes, subject, method.subject === "uri" ? Infinity : MAX_NAME_CHARACTERS);
      if (wrong !== null) return wrong;
    }
    const metaStart = spans[2 * SLOT["_meta"]];
    if (metaStart >= 0 && bytes[metaStart] === OPEN_OBJECT) meta = spanOf(found, SLOT["_meta"]);
  }
  if (id === undefined) return { kind: "notification", method, params };
  return { kind: "request", id, method, params, subject, meta };
}

const NULL = "n".charCodeAt(0);
const BATCH: BatchEnvelope = { kind: "batch" };

/** Finds out, from bytes that were not read to their end, which request they belong to. */
function glance({ bytes, start, end }: Payload, fault: Fault): OpaqueEnvelope {
  const reader = createGistReader();
  reader.push(bytes.subarray(start, end));
  const { id, like } = reader.end();
  if (like === "answer") return opaque(fault, id, "answer", null);
  // In bytes that are not JSON no id can be trusted, so no error response is sent.
  return fault === "too-deep" ? opaque(fault, id, like, null) : opaque(fault, null, "neither", null);
}

function opaque(fault: Fault, id: Id | null, like: OpaqueEnvelope["like"], oddId: Span | null): OpaqueEnvelope {
  return { kind: "opaque", fault, id, like, oddId };
}

function likeness({ spans }: Scan): OpaqueEnvelope["like"] {
  const isAnswer = spans[2 * SLOT.result] >= 0 || spans[2 * SLOT.error] >= 0;
  if (isAnswer && spans[2 * SLOT.method] < 0) return "answer";
  return spans[2 * SLOT.id] >= 0 ? "request" : "neither";
}

function isVersion(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] !== QUOTE) return false;
  if (end - start === 5 && bytes[start + 1] === 0x32 && bytes[start + 2] === 0x2e && bytes[start + 3] === 0x30)
    return true;
  return readText(bytes, start + 1, end - 1) === "2.0";
}

function readMethod(bytes: Buffer, start: number, end: number, hasId: boolean): Method | Fault {
  if (bytes[start] !== QUOTE) return "bad-method";
  const known = findMethod(bytes, start + 1, end - 1);
  if (known !== undefined) return known;
  if (end - start > MAX_METHOD_BYTES) return "variant-method";
  const name = readText(bytes, start + 1, end - 1);
  if (!name.isWellFormed()) return "lone-surrogate";
  return describeMethod(name, hasId) ?? "variant-method";
}

/** Longer names of tools, prompts and tasks are refused, because every open call keeps its name. URIs may be longer. */
export const MAX_NAME_CHARACTERS = 1024;

/** The subject must be text that every peer reads in the same way. Otherwise the policy cannot judge the request. */
function checkSubject(bytes: Buffer, subject: Span, maxCharacters: number): Fault | null {
  if (bytes[subject.start] !== QUOTE) return "bad-subject";
  if (subject.end - subject.start - 2 > maxCharacters) {
    // A character takes six bytes at most: those of a `\u` escape.
    if (subject.end - subject.start - 2 > 6 * maxCharacters) return "bad-subject";
    if (readText(bytes, subject.start + 1, subject.end - 1).length > maxCharacters) return "bad-subject";
  }
  for (let at = subject.start + 1; at < subject.end - 1; at++) {
    if (bytes[at] !== BACKSLASH) continue;
    return readText(bytes, subject.start + 1, subject.end - 1).isWellFormed() ? null : "lone-surrogate";
  }
  return null;
}

function spanOf(found: Scan, slot: number): Span {
  return { start: found.spans[2 * slot], end: found.spans[2 * slot + 1] };
}
