import { OPEN_OBJECT, QUOTE } from "../message/characters.ts";
import type { Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { flatten } from "../message/flatten.ts";
import { eachMember, readString, skipSpace } from "../message/members.ts";
import { type Direction, type Message, type Payload, whole } from "../message/message.ts";
import { scan } from "../message/scan.ts";
import { showText } from "../message/text.ts";
import { type Change, problem, setAt } from "../action/change.ts";
import { follow, type Placed } from "../action/follow.ts";

/** The event about a message that a webhook or a script receives. */
export interface HookEvent {
  /** A unique id, by which the receiver recognises an event that it gets twice. */
  readonly id: string;
  readonly time: Date;
  readonly rule: string;
  readonly direction: Direction;
  /** The method of the message; for a response, the method of its request. */
  readonly method: string | null;
  readonly tool: string | null;
  readonly session: string | null;
  readonly identity: string | null;
  /** The server that the message is sent to or comes from. */
  readonly server: string;
}

/** The decision of a webhook or a script. */
export type HookVerdict =
  | { readonly action: "allow" }
  | { readonly action: "block"; readonly reason: string | null }
  /** The message is replaced by this one. */
  | { readonly action: "modify"; readonly message: Placed };

/** An event as JSON, with the bytes of the message in it unless that is null. */
export function composeEvent({ time, ...event }: HookEvent, message: Payload | null): Buffer {
  const head = JSON.stringify({ version: 1, time: time.toISOString(), ...event });
  if (message === null) return Buffer.from(head);
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},"message":`), flatten(message), CLOSE]);
}

const CLOSE = Buffer.from("}");

/**
 * Reads `{"action": "allow" | "block" | "modify", "reason"?, "message"?}`. Anything else is a problem, not a decision.
 */
export function readHookVerdict(body: Buffer): HookVerdict | { readonly problem: string } {
  if (scan(whole(body)).fault !== null) return problem("the response is not valid JSON, or is ambiguous");
  const root = rootOf(body);
  if (body[root.start] !== OPEN_OBJECT) return problem("the response is not a JSON object");
  const members = membersOf(body, root);
  const action = readString(body, members.get("action") ?? null);
  switch (action) {
    case "allow":
      return { action };
    case "block": {
      const reason = members.get("reason");
      if (reason !== undefined && body[reason.start] !== QUOTE) return problem("the reason is not a string");
      const text = readString(body, reason ?? null);
      // The client is shown this text, and its author may not have escaped it.
      return { action, reason: text === null ? null : showText(text, MAX_REASON_CHARACTERS) };
    }
    case "modify": {
      const message = members.get("message");
      if (message === undefined || body[message.start] !== OPEN_OBJECT) return problem("modify needs a message");
      return { action, message: { bytes: body, span: message } };
    }
    case null:
    default:
      return problem("the action is not allow, block or modify");
  }
}

const MAX_REASON_CHARACTERS = 500;

/**
 * The edits that turn a message into the one that a webhook or a script returned. Only params, result and error can
 * change: id and method stay as they are. A member that the returned message leaves out is kept.
 */
export function followMessage(message: Message, wanted: Placed): Change {
  const { bytes } = message;
  const root = rootOf(bytes.subarray(0, message.end), message.start);
  const own = membersOf(bytes, root);
  const edits: Edit[] = [];
  for (const [key, span] of membersOf(wanted.bytes, wanted.span)) {
    const change = followMember(message, root, own.get(key), key, { bytes: wanted.bytes, span });
    if ("problem" in change) return change;
    for (const edit of change.edits) edits.push(edit);
  }
  return { edits: edits.sort((one, other) => one.span.start - other.span.start) };
}

function followMember(message: Message, root: Span, before: Span | undefined, key: string, wanted: Placed): Change {
  const { bytes } = message;
  const name = showText(key, 40);
  if (before === undefined && (key !== "params" || !isRequestLike(message)))
    return problem(`the message has no ${name} to change`);
  const edits = before === undefined ? null : follow({ bytes, span: before }, wanted);
  if (edits?.length === 0) return { edits };
  if (!BODIES.has(key)) return problem(`${name} of a message cannot be changed`);
  if (key !== "result" && wanted.bytes[wanted.span.start] !== OPEN_OBJECT) return problem(`${key} must be an object`);
  if (edits !== null) return { edits };
  return setAt(bytes, root, [key], flatten({ bytes: wanted.bytes, ...wanted.span, ascii: false }).toString("utf8"));
}

const BODIES = new Set(["params", "result", "error"]);

function isRequestLike({ envelope: { kind } }: Message): boolean {
  return kind === "request" || kind === "notification";
}

function membersOf(bytes: Buffer, span: Span): Map<string, Span> {
  const members = new Map<string, Span>();
  eachMember(bytes, span, (key, value) => members.set(key, value));
  return members;
}

function rootOf(bytes: Buffer, start = 0): Span {
  return { start: skipSpace(bytes, start), end: bytes.length };
}
