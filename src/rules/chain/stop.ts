import type { Span } from "../../message/envelope.ts";
import type { Message } from "../../message/message.ts";
import type { Moment } from "../guess.ts";
import type { Part } from "../fields.ts";
import { type InnerMessage, innerOfParams, innerOfResult, type InnerMessages, looksLike } from "../inner.ts";
import type { Gist } from "../guess.ts";
import type { SessionFacts } from "../../store/session-facts.ts";
import { MAX_SUBJECT_CHARACTERS } from "../../session/calls.ts";
import type { Call } from "../../session/call.ts";
import type { Turn } from "../../session/turn.ts";
import { type CallMemo, memoOf } from "./memo.ts";
import type { Recall } from "./recall.ts";
import { readClaimedClient, View } from "./turn-view.ts";

/** What the chain judges at one time: a message, or a message inside it. */
export interface Stop {
  readonly moment: Moment;
  /** The message. An inner message has the bytes of the outer one, and spans of its own. */
  readonly message: Message;
  readonly view: View;
  readonly isInner: boolean;
  /** Whether it contains a list whose elements can be hidden. */
  readonly isList: boolean;
}

/** The stop for the message of a turn itself, with the memo of the chain with this name. */
export function outerStop(turn: Turn, facts: SessionFacts, chain: string | null): Stop {
  const { message, session, answers } = turn;
  const { envelope, bytes, direction } = message;
  switch (envelope.kind) {
    case "request":
    case "notification": {
      const { method, params } = envelope;
      const tool = method.name === "tools/call" ? toolOf(turn.opens?.subject ?? null) : null;
      const view = new View(envelope.kind, direction, session, facts);
      view.method = method.name;
      view.params = partOf(bytes, params);
      view.tool = tool;
      return { moment: "said", message, view, isInner: false, isList: false };
    }
    case "result":
    case "error": {
      const view = new View(envelope.kind, direction, session, facts);
      if (envelope.kind === "result") view.result = partOf(bytes, envelope.result);
      else view.error = partOf(bytes, envelope.error);
      if (answers !== undefined) askedBy(view, answers, memoOf(answers, chain));
      const isList = envelope.kind === "result" && view.method !== null && view.method.endsWith("/list");
      return { moment: "answered", message, view, isInner: false, isList };
    }
    case "batch":
    case "opaque":
      throw new Error(`nothing to judge in a message of the kind ${envelope.kind}`);
  }
}

/** The gist of a stop. For a list the tool is undefined, because rules for any tool may concern its elements. */
export function gistOf({ moment, view, isList }: Stop): Gist {
  return { moment, direction: view.direction, method: view.method, tool: isList ? undefined : view.tool };
}

/** The messages inside the message of a turn; "unclear" if peers could see different ones. */
export function findInner({ message, answers }: Turn): InnerMessages {
  const { envelope, bytes } = message;
  if (envelope.kind === "result")
    return answers === undefined
      ? NOTHING_INSIDE
      : innerOfResult(bytes, envelope.result, answers.method.name, answers.subject);
  if ((envelope.kind === "request" || envelope.kind === "notification") && envelope.params !== null)
    return innerOfParams(bytes, envelope.params, envelope.method.name);
  return NOTHING_INSIDE;
}

const NOTHING_INSIDE: InnerMessages = [];

/** The stops for the inner messages. `recall` must have been loaded for them. */
export function innerStops(
  turn: Turn,
  found: Exclude<InnerMessages, "unclear">,
  facts: SessionFacts,
  recall: Recall,
  chain: string | null,
): readonly Stop[] {
  if (found.length === 0) return [];
  // Determined once for all of them, because each search walks over the whole message.
  const asker = askerOf(turn, chain);
  return found.flatMap((inner) => {
    if (inner.kind !== "response") return innerStop(turn, inner, asker, facts, recall);
    const known = recall.methodAsked(inner.key);
    const methods = known === null ? looksLike(turn.message.bytes, inner.result) : [known];
    return methods.map((method) => responseStop(turn, inner.result, method, asker, facts));
  });
}

/** The stop for a client's response to an input request, inside the request that retries the call. */
function responseStop(
  { message, session }: Turn,
  result: Span,
  method: string | null,
  asker: string | null,
  facts: SessionFacts,
): Stop {
  const { bytes, direction } = message;
  const view = new View("result", direction, session, facts);
  view.asker = asker;
  view.method = method;
  view.params = undefined;
  view.result = partOf(bytes, result);
  const isList = method !== null && method.endsWith("/list");
  return { ...answered(message, view, { kind: "result", id: NO_ID, result }), isList };
}

function innerStop(
  turn: Turn,
  inner: Exclude<InnerMessage, { kind: "response" }>,
  asker: string | null,
  facts: SessionFacts,
  recall: Recall,
): Stop {
  const { message, session } = turn;
  const { bytes, direction } = message;
  const view = new View(inner.kind, direction, session, facts);
  view.asker = asker;
  switch (inner.kind) {
    case "request": {
      view.method = inner.method;
      view.params = partOf(bytes, inner.params);
      const envelope = { ...NO_REQUEST, params: inner.params };
      return { moment: "said", message: { ...message, envelope }, view, isInner: true, isList: false };
    }
    case "result":
      beOfTask(view, inner.taskId, recall);
      view.result = partOf(bytes, inner.result);
      return answered(message, view, { kind: "result", id: NO_ID, result: inner.result });
    case "error":
      beOfTask(view, inner.taskId, recall);
      view.error = partOf(bytes, inner.error);
      return answered(message, view, { kind: "error", id: NO_ID, error: inner.error });
  }
}

/** The client that sent the outer message, or the request that it responds to. */
function askerOf({ message, answers }: Turn, chain: string | null): string | null {
  if (answers !== undefined) return memoOf(answers, chain)?.client ?? null;
  const { envelope, bytes } = message;
  return "params" in envelope ? readClaimedClient(bytes, envelope.params) : null;
}

function answered(message: Message, view: View, envelope: Message["envelope"]): Stop {
  return { moment: "answered", message: { ...message, envelope }, view, isInner: true, isList: false };
}

/**
 * The result of a task is judged as the response to the call that started it. A call that the proxy has not seen can
 * only have been a tool call.
 */
function beOfTask(view: View, taskId: string, recall: Recall): void {
  const origin = recall.taskOrigin(taskId);
  view.method = origin === undefined ? "tools/call" : origin.method;
  view.tool = origin?.tool;
  const params = origin?.params;
  view.params = params === null || params === undefined ? params : { bytes: params, start: 0, end: params.length };
}

const NO_ID = { key: "", quoted: '""' };
const NO_REQUEST = {
  kind: "request",
  id: NO_ID,
  method: { name: "", class: "review", sender: "both", form: "request", subject: null },
  subject: null,
  meta: null,
} as const;

/** Fills a response's view with the data of its request. */
function askedBy(view: View, { method, subject }: Call, memo: CallMemo | null): void {
  view.method = method.name;
  view.tool = method.name === "tools/call" ? toolOf(subject) : null;
  // Undefined if not kept: then no rule for this response looks into params, unless the policy was reloaded meanwhile.
  view.params = memo === null ? undefined : memo.params;
  view.asker = memo === null ? null : memo.client;
}

/** A subject of maximum length may have been cut, so the tool's name is not known. */
function toolOf(subject: string | null): string | null | undefined {
  return subject !== null && subject.length >= MAX_SUBJECT_CHARACTERS ? undefined : subject;
}

function partOf(bytes: Buffer, span: Span | null): Part | null {
  return span === null ? null : { bytes, start: span.start, end: span.end };
}
