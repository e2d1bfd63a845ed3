import { OPEN_OBJECT } from "../message/characters.ts";
import { META_KEYS } from "../message/protocol.ts";
import { type Edit, splice } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { type Id, spell } from "../message/id.ts";
import { keyMeant } from "../message/meant.ts";
import { eachElement, findMember, readString } from "../message/members.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";

/** The id and the progress token that the client gave its request. */
export interface Named {
  readonly call: Call;
  /** The progress token: JSON text, as latin1. */
  readonly token: string | null;
}

/** The number that the proxy gave the request which a server's message refers to. */
export function numberOf(message: Message): number | null {
  const { bytes, envelope } = message;
  if (envelope.kind === "result" || envelope.kind === "error") return numberIn(envelope.id);
  if (envelope.kind !== "notification") return null;
  const span = tokenOf(message) ?? subscriptionOf(message) ?? cancelledBy(message);
  if (span === null) return null;
  const number = Number(readString(bytes, span) ?? bytes.toString("latin1", span.start, span.end));
  return Number.isSafeInteger(number) ? number : null;
}

/** The number in a response's id. Some servers return the number as a string. */
export function numberIn(id: Id | null): number | null {
  if (id === null || typeof id.key !== "number") return null;
  return id.quoted === null || id.quoted === `"${id.key}"` ? id.key : null;
}

/**
 * The numbers of the requests that a message was meant to answer although it cannot be forwarded: it cannot be read,
 * its id is spelled differently from ours, or it is a batch, which this era does not have.
 */
export function numbersMeant(message: Message): number[] {
  const { bytes, start, end, envelope } = message;
  if (envelope.kind !== "batch") return [keyMeant(message)].filter((key) => typeof key === "number");
  const found: number[] = [];
  let looked = 0;
  eachElement(bytes, { start: bytes.indexOf("[", start), end }, (from, to) => {
    // Batches inside a batch are skipped: each level would be read again.
    if (bytes[from] === OPEN_OBJECT)
      found.push(...numbersMeant(openMessage({ bytes, start: from, end: to, ascii: false }, "down", "allow")));
    return ++looked < MAX_LOOKED_AT;
  });
  return found;
}

/** At most this many messages of a batch are examined. */
const MAX_LOOKED_AT = 10_000;

/** Replaces a request's id and progress token with a number chosen by the proxy. */
export function rename(message: Message, number: number): { payload: Buffer; token: string | null } {
  const { bytes, start, end } = message;
  const edits: Edit[] = [];
  const by = Buffer.from(String(number));
  const id = findMember(bytes, rootOf(message), "id");
  if (id !== null) edits.push({ span: id, by });
  const token = tokenOf(message);
  if (token !== null) edits.push({ span: token, by });
  edits.sort((one, other) => one.span.start - other.span.start);
  const text = token === null ? null : bytes.toString("latin1", token.start, token.end);
  return { payload: splice({ ...message, start, end }, edits), token: text };
}

/** Puts the client's own id and progress token back. */
export function restore(message: Message, number: number, { call, token }: Named): Payload {
  const { envelope } = message;
  const edits: Edit[] = [];
  const put = (span: Span | null, text: string | null): void => {
    if (span === null || text === null) return;
    const given = message.bytes.toString("latin1", span.start, span.end);
    // Some servers return a number as a string. Then the client gets a string too.
    const isQuoted = given === `"${number}"`;
    if (given !== String(number) && !isQuoted) return;
    const by = isQuoted && !text.startsWith('"') ? `"${text}"` : text;
    edits.push({ span, by: Buffer.from(by, "latin1") });
  };
  if (envelope.kind === "notification") {
    put(envelope.method.name === "notifications/progress" ? tokenOf(message) : null, token);
    put(subscriptionOf(message), spell(call.id));
    put(cancelledBy(message), spell(call.id));
  } else {
    put(findMember(message.bytes, rootOf(message), "id"), spell(call.id));
    put(subscriptionOf(message), spell(call.id));
  }
  edits.sort((one, other) => one.span.start - other.span.start);
  return whole(splice(message, edits));
}

/** The progress token of a request or of a progress notification. */
function tokenOf({ bytes, envelope }: Message): Span | null {
  if (!("params" in envelope) || envelope.params === null) return null;
  if (envelope.kind === "notification") {
    return envelope.method.name === "notifications/progress"
      ? findMember(bytes, envelope.params, "progressToken")
      : null;
  }
  const meta = findMember(bytes, envelope.params, "_meta");
  return meta === null ? null : findMember(bytes, meta, "progressToken");
}

/**
 * The id of the subscription that a message belongs to. It equals the id of the request that opened the subscription.
 */
function subscriptionOf({ bytes, envelope }: Message): Span | null {
  const holder =
    envelope.kind === "notification" ? envelope.params : envelope.kind === "result" ? envelope.result : null;
  const meta = holder === null ? null : findMember(bytes, holder, "_meta");
  return meta === null ? null : findMember(bytes, meta, META_KEYS.subscriptionId);
}

/** The id of the request that the server cancels. */
function cancelledBy({ bytes, envelope }: Message): Span | null {
  if (envelope.kind !== "notification" || envelope.method.name !== "notifications/cancelled") return null;
  return envelope.params === null ? null : findMember(bytes, envelope.params, "requestId");
}

/** Whether the client asked to receive the server's log messages for this request. */
export function wantsLog({ bytes, envelope }: Message): boolean {
  if (envelope.kind !== "request" || envelope.params === null) return false;
  const meta = findMember(bytes, envelope.params, "_meta");
  return meta !== null && findMember(bytes, meta, META_KEYS.logLevel) !== null;
}

function rootOf({ bytes, start, end }: Message): Span {
  return { start: bytes.indexOf("{", start), end };
}
