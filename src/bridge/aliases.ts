import { OPEN_OBJECT } from "../message/characters.ts";
import { META_KEYS } from "../message/protocol.ts";
import { type Edit, splice } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { type Id, spell } from "../message/id.ts";
import { keyMeant } from "../message/meant.ts";
import { eachElement, findMember, readString } from "../message/members.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";

/** What the sender of a request called it. */
export interface Named {
  readonly call: Call;
  /** The progress token: JSON text, as latin1. */
  readonly token: string | null;
}

/** The number we gave the request that a message of the server's is about. */
export function numberOf(message: Message): number | null {
  const { bytes, envelope } = message;
  if (envelope.kind === "result" || envelope.kind === "error") return numberIn(envelope.id);
  if (envelope.kind !== "notification") return null;
  const span = tokenOf(message) ?? subscriptionOf(message) ?? cancelledBy(message);
  if (span === null) return null;
  const number = Number(readString(bytes, span) ?? bytes.toString("latin1", span.start, span.end));
  return Number.isSafeInteger(number) ? number : null;
}

/** The number that an answer's id is: some servers make a text of it. */
export function numberIn(id: Id | null): number | null {
  if (id === null || typeof id.key !== "number") return null;
  return id.quoted === null || id.quoted === `"${id.key}"` ? id.key : null;
}

/**
 * The numbers of the requests that a message was meant to answer which cannot be passed on: it cannot be read, its id is
 * another spelling of ours, or it is a batch, which this era does not have.
 */
export function numbersMeant(message: Message): number[] {
  const { bytes, start, end, envelope } = message;
  if (envelope.kind !== "batch") return [keyMeant(message)].filter((key) => typeof key === "number");
  const found: number[] = [];
  let looked = 0;
  eachElement(bytes, { start: bytes.indexOf("[", start), end }, (from, to) => {
    // Not of a batch inside of a batch: each level would be read again.
    if (bytes[from] === OPEN_OBJECT)
      found.push(...numbersMeant(openMessage({ bytes, start: from, end: to, ascii: false }, "down", "allow")));
    return ++looked < MAX_LOOKED_AT;
  });
  return found;
}

/** So many messages of a batch are looked at. */
const MAX_LOOKED_AT = 10_000;

/** Gives a request a number of ours in place of its id and of its progress token. */
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

/** Puts back what the sender of a request called it. */
export function restore(message: Message, number: number, { call, token }: Named): Payload {
  const { envelope } = message;
  const edits: Edit[] = [];
  const put = (span: Span | null, text: string | null): void => {
    if (span === null || text === null) return;
    const given = message.bytes.toString("latin1", span.start, span.end);
    // Some servers make a text of a number: then it is one for the sender too.
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

/** A request's progress token, or that of a notification of progress. */
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

/** The subscription that a message belongs to: it is called like the request that opened it. */
function subscriptionOf({ bytes, envelope }: Message): Span | null {
  const holder =
    envelope.kind === "notification" ? envelope.params : envelope.kind === "result" ? envelope.result : null;
  const meta = holder === null ? null : findMember(bytes, holder, "_meta");
  return meta === null ? null : findMember(bytes, meta, META_KEYS.subscriptionId);
}

/** The request that a server says it has given up. */
function cancelledBy({ bytes, envelope }: Message): Span | null {
  if (envelope.kind !== "notification" || envelope.method.name !== "notifications/cancelled") return null;
  return envelope.params === null ? null : findMember(bytes, envelope.params, "requestId");
}

/** Whether the sender of a request wants to hear what the server logs meanwhile. */
export function wantsLog({ bytes, envelope }: Message): boolean {
  if (envelope.kind !== "request" || envelope.params === null) return false;
  const meta = findMember(bytes, envelope.params, "_meta");
  return meta !== null && findMember(bytes, meta, META_KEYS.logLevel) !== null;
}

function rootOf({ bytes, start, end }: Message): Span {
  return { start: bytes.indexOf("{", start), end };
}
