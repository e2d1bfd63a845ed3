import type { Span } from "../message/envelope.ts";
import { findMember, readString } from "../message/members.ts";
import type { Direction, Message } from "../message/message.ts";
import type { Moment } from "../policy/rules/compiled-rule.ts";
import type { Part } from "../policy/rules/fields.ts";
import {
  type InnerMessage,
  innerOfParams,
  innerOfResult,
  type InnerMessages,
  looksLike,
} from "../policy/rules/inner.ts";
import type { Gist } from "../policy/rules/rule-index.ts";
import { taskScope } from "../policy/rules/tasks.ts";
import type { RuleView, SessionFacts } from "../policy/rules/view.ts";
import { type Call, MAX_SUBJECT_CHARACTERS } from "../session/calls.ts";
import { readClientName } from "../session/owner.ts";
import type { SessionView } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import type { CallMemo } from "./memo.ts";
import type { ChainState } from "./state.ts";

/** Where the chain stops to judge: at a message, or at one that is inside of it. */
export interface Stop {
  readonly moment: Moment;
  /** Its bytes. For one inside another, those of the other, with the places of its own. */
  readonly message: Message;
  readonly view: RuleView;
  readonly isInner: boolean;
  /** Whether it brings a list, of which elements can be hidden. */
  readonly isList: boolean;
}

/** The stop at the message of a turn itself. */
export function outerStop(turn: Turn, facts: SessionFacts): Stop {
  const { message, session, answers } = turn;
  const { envelope, bytes, direction } = message;
  switch (envelope.kind) {
    case "request":
    case "notification": {
      const { method, params } = envelope;
      const tool = method.name === "tools/call" ? toolOf(turn.opens?.subject ?? null) : null;
      const view = createView("request", direction, session, facts, bytes, params);
      const seen = { ...view, kind: envelope.kind, method: method.name, params: partOf(bytes, params), tool };
      return { moment: "said", message, view: seen, isInner: false, isList: false };
    }
    case "result":
    case "error": {
      const result = envelope.kind === "result" ? partOf(bytes, envelope.result) : null;
      const error = envelope.kind === "error" ? partOf(bytes, envelope.error) : null;
      const view = createView(envelope.kind, direction, session, facts, bytes, null);
      const asked = answers === undefined ? NOBODY : askedBy(answers);
      const isList = envelope.kind === "result" && asked.method !== null && asked.method.endsWith("/list");
      return { moment: "answered", message, view: { ...view, ...asked, result, error }, isInner: false, isList };
    }
    case "batch":
    case "opaque":
      throw new Error(`nothing to judge in a message of the kind ${envelope.kind}`);
  }
}

/** What the gist of a stop is. Rules about elements of a list are found by no tool's name. */
export function gistOf({ moment, view, isList }: Stop): Gist {
  return { moment, direction: view.direction, method: view.method, tool: isList ? undefined : view.tool };
}

/** The stops inside a message; "unclear" where peers could see different ones. */
export function innerStops(turn: Turn, facts: SessionFacts, state: ChainState): readonly Stop[] | "unclear" {
  const { message, answers } = turn;
  const { envelope, bytes } = message;
  let found: InnerMessages = [];
  if (envelope.kind === "result" && answers !== undefined)
    found = innerOfResult(bytes, envelope.result, answers.method.name, answers.subject);
  else if ((envelope.kind === "request" || envelope.kind === "notification") && envelope.params !== null)
    found = innerOfParams(bytes, envelope.params, envelope.method.name);
  if (found === "unclear") return found;
  return found.flatMap((inner) => {
    if (inner.kind !== "response") return innerStop(turn, inner, facts, state);
    const asked = askedFor(turn, inner.key, state);
    const methods = asked === null ? looksLike(bytes, inner.result) : [asked];
    return methods.map((method) => responseStop(turn, inner.result, method, facts));
  });
}

/** An answer of a client's, inside the request that takes a call up again. */
function responseStop({ message, session }: Turn, result: Span, method: string | null, facts: SessionFacts): Stop {
  const { bytes, direction } = message;
  const base = createView("result", direction, session, facts, bytes, null);
  const view: RuleView = { ...base, method, params: undefined, result: partOf(bytes, result) };
  const isList = method !== null && method.endsWith("/list");
  return { ...answered(message, view, { kind: "result", id: NO_ID, result }), isList };
}

function innerStop(
  turn: Turn,
  inner: Exclude<InnerMessage, { kind: "response" }>,
  facts: SessionFacts,
  state: ChainState,
): Stop {
  const { message, session } = turn;
  const { bytes, direction } = message;
  const base = createView("request", direction, session, facts, bytes, null);
  switch (inner.kind) {
    case "request": {
      const { method, params } = inner;
      const envelope = { ...NO_REQUEST, params };
      const view: RuleView = { ...base, method, params: partOf(bytes, params) };
      return { moment: "said", message: { ...message, envelope }, view, isInner: true, isList: false };
    }
    case "result": {
      const asked = taskOrigin(turn, inner.taskId, state);
      const view: RuleView = { ...base, ...asked, kind: "result", result: partOf(bytes, inner.result) };
      return answered(message, view, { kind: "result", id: NO_ID, result: inner.result });
    }
    case "error": {
      const asked = taskOrigin(turn, inner.taskId, state);
      const view: RuleView = { ...base, ...asked, kind: "error", error: partOf(bytes, inner.error) };
      return answered(message, view, { kind: "error", id: NO_ID, error: inner.error });
    }
  }
}

function answered(message: Message, view: RuleView, envelope: Message["envelope"]): Stop {
  return { moment: "answered", message: { ...message, envelope }, view, isInner: true, isList: false };
}

/** What a client answers to inside a request, where the question went by us. */
function askedFor({ message, session }: Turn, key: string, { inputs }: ChainState): string | null {
  const { envelope, bytes } = message;
  if (envelope.kind !== "request" || envelope.params === null) return null;
  const requestState = readString(bytes, findMember(bytes, envelope.params, "requestState"));
  return requestState === null ? null : (inputs.find(session.scope, requestState)?.methods.get(key) ?? null);
}

/** What started a task. One that we have not seen can only have been a call of some tool. */
function taskOrigin({ session, message }: Turn, taskId: string, { tasks }: ChainState) {
  const origin = tasks.find(taskScope(message.direction, session.scope), taskId);
  if (origin === undefined) return { method: "tools/call", tool: undefined, params: undefined };
  const { method, tool, params } = origin;
  return { method, tool, params: params === null ? null : { bytes: params, start: 0, end: params.length } };
}

const NO_ID = { key: "", quoted: '""' };
const NO_REQUEST = {
  kind: "request",
  id: NO_ID,
  method: { name: "", class: "review", sender: "both", form: "request", subject: null },
  subject: null,
} as const;

/** What rules see of the request that an answer is for. */
function askedBy({ method, subject, memo }: Call): Pick<RuleView, "method" | "tool" | "params"> {
  const tool = method.name === "tools/call" ? toolOf(subject) : null;
  // Not kept: no rule that is asked for this answer looks into them, unless the policy changed meanwhile.
  return { method: method.name, tool, params: memo === null ? undefined : (memo as CallMemo).params };
}

/** Of a name that is too long to be kept whole nobody can tell which one it is. */
function toolOf(subject: string | null): string | null | undefined {
  return subject !== null && subject.length >= MAX_SUBJECT_CHARACTERS ? undefined : subject;
}

const NOBODY = { method: null, tool: null, params: null } as const;

function createView(
  kind: RuleView["kind"],
  direction: Direction,
  session: SessionView,
  facts: SessionFacts,
  bytes: Buffer,
  params: Span | null,
): RuleView {
  return {
    kind,
    direction,
    method: null,
    params: null,
    result: null,
    error: null,
    tool: null,
    client: session.client() ?? readClaimedClient(bytes, params),
    identity: session.identity,
    session: facts,
  };
}

/** Since 2026-07-28 a client says in each request who it is. */
function readClaimedClient(bytes: Buffer, params: Span | null): string | null {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return meta === null ? null : readClientName(bytes, findMember(bytes, meta, CLIENT_KEY));
}

const CLIENT_KEY = "io.modelcontextprotocol/clientInfo";

function partOf(bytes: Buffer, span: Span | null): Part | null {
  return span === null ? null : { bytes, start: span.start, end: span.end };
}
