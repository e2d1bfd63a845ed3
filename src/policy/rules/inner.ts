import type { Span } from "../../message/envelope.ts";
import { fold, isAlikeAt } from "../../message/fold.ts";
import { eachKey, findMember, readString } from "../../message/members.ts";
import { isSpelled } from "../../message/spelling.ts";
import { readText } from "../../message/text.ts";
import { kindAt } from "./fields.ts";

/** A message inside another one. Its places are places in the bytes of the outer one. */
export type InnerMessage =
  /** What a server asks of a client in the middle of a call. */
  | { readonly kind: "request"; readonly key: string; readonly method: string | null; readonly params: Span | null }
  /** What a client answers to that, in the request that takes the call up again. */
  | { readonly kind: "response"; readonly key: string; readonly result: Span }
  /** How a task ended: what the call that started it would have been answered. */
  | { readonly kind: "result"; readonly taskId: string; readonly result: Span }
  | { readonly kind: "error"; readonly taskId: string; readonly error: Span };

/** A message with more inside it is not taken apart. */
export const MAX_INNER_MESSAGES = 1000;

/** What is inside another message; "unclear" where there is too much, or peers could read it in different ways. */
export type InnerMessages = readonly InnerMessage[] | "unclear";

/**
 * What is inside a result. Since 2026-07-28 sampling, elicitation and roots are asked for in the
 * results of calls (`inputRequests`), and a task's result or error is a member of what `tasks/get`
 * answers; before that `tasks/result` answered with the bare result of the call. `taskId` is the
 * task that was asked about. Whatever a result says it is, clients may read what it holds: so this
 * goes by the members and not by `resultType`.
 */
export function innerOfResult(
  bytes: Buffer,
  result: Span,
  method: string | null,
  taskId: string | null = null,
): InnerMessages {
  if (method !== null && TASK_STATES.has(method)) return innerOfTask(bytes, result, taskId);
  const requests = innerRequests(bytes, result);
  if (method !== "tasks/result" || taskId === null || requests === "unclear") return requests;
  return [{ kind: "result", taskId, result }, ...requests];
}

/** What is inside the params of a request or notification: answers to input requests, or the state of a task. */
export function innerOfParams(bytes: Buffer, params: Span, method: string): InnerMessages {
  if (TASK_NEWS.has(method)) return innerOfTask(bytes, params, null);
  const found = pick(bytes, params, RESPONSES);
  const responses = found?.inputResponses ?? null;
  if (found === null) return "unclear";
  const inner: InnerMessage[] = [];
  if (responses === null || kindAt(bytes, responses.start) !== "object") return inner;
  let isClear = true;
  eachKey(bytes, responses, (keyStart, keyEnd, start, end) => {
    isClear = inner.length < MAX_INNER_MESSAGES;
    if (isClear) inner.push({ kind: "response", key: readText(bytes, keyStart, keyEnd), result: { start, end } });
    return isClear;
  });
  return isClear ? inner : "unclear";
}

/**
 * What a client's answer is an answer to, by its members: a server need not give its questions a state that we would know
 * them by. More than one where it could be either; null where it could be none.
 */
export function looksLike(bytes: Buffer, result: Span): readonly (string | null)[] {
  const methods = new Set<string>();
  if (kindAt(bytes, result.start) === "object")
    eachKey(bytes, result, (start, end) => {
      for (const { keys: telling, method } of TELLING) if (isAlikeAt(bytes, start, end, telling)) methods.add(method);
      return true;
    });
  return methods.size === 0 ? [null] : [...methods];
}

const TELLING = [
  { keys: new Set(["role", "model"]), method: "sampling/createMessage" },
  { keys: new Set(["action"]), method: "elicitation/create" },
  { keys: new Set(["roots"]), method: "roots/list" },
];

/** Whose answers are the state of a task. */
const TASK_STATES = new Set(["tasks/get", "tasks/update", "tasks/cancel"]);

/** Notifications that bring the state of a task. */
const TASK_NEWS = new Set(["notifications/tasks", "notifications/tasks/status"]);

/** The task that a result says was started instead of an answer, by the revisions that have tasks; or null. */
export function startedTask(bytes: Buffer, result: Span): string | null {
  const task = findMember(bytes, result, "task");
  const bare = task === null ? null : readString(bytes, findMember(bytes, task, "taskId"));
  if (bare !== null) return bare;
  return readString(bytes, findMember(bytes, result, "resultType")) === "task"
    ? readString(bytes, findMember(bytes, result, "taskId"))
    : null;
}

function innerOfTask(bytes: Buffer, task: Span, asked: string | null): InnerMessages {
  const found = pick(bytes, task, TASK);
  const requests = innerRequests(bytes, task);
  if (found === null || requests === "unclear") return "unclear";
  // The task that was asked about counts, and not what the answer calls it.
  const taskId = asked ?? readString(bytes, found.taskId) ?? "";
  const inner: InnerMessage[] = [];
  if (found.result !== null) {
    const deeper = innerRequests(bytes, found.result);
    if (deeper === "unclear") return deeper;
    inner.push({ kind: "result", taskId, result: found.result }, ...deeper);
  }
  if (found.error !== null) inner.push({ kind: "error", taskId, error: found.error });
  return [...inner, ...requests];
}

function innerRequests(bytes: Buffer, result: Span): InnerMessages {
  const found = pick(bytes, result, REQUESTS);
  if (found === null) return "unclear";
  const inner: InnerMessage[] = [];
  if (found.inputRequests === null || kindAt(bytes, found.inputRequests.start) !== "object") return inner;
  let isClear = true;
  eachKey(bytes, found.inputRequests, (keyStart, keyEnd, start, end) => {
    const request = inner.length < MAX_INNER_MESSAGES ? pick(bytes, { start, end }, REQUEST) : null;
    isClear = request !== null;
    if (request === null) return false;
    const key = readText(bytes, keyStart, keyEnd);
    const params = request.params !== null && kindAt(bytes, request.params.start) === "object" ? request.params : null;
    inner.push({ kind: "request", key, method: readString(bytes, request.method), params });
    return true;
  });
  return isClear ? inner : "unclear";
}

/** The keys that matter somewhere, and what a careless peer takes for them. */
function keys<Key extends string>(...names: Key[]) {
  return { names, folded: new Set(names.map(fold)), none: nothing(names) };
}

function nothing<Key extends string>(names: readonly Key[]): Record<Key, Span | null> {
  return Object.fromEntries(names.map((name) => [name, null])) as Record<Key, null>;
}

const RESPONSES = keys("inputResponses");
const REQUESTS = keys("inputRequests");
const REQUEST = keys("method", "params");
const TASK = keys("taskId", "result", "error");

/** The members with these keys. Null where there is one that some peer would take for one of them. */
function pick<Key extends string>(
  bytes: Buffer,
  span: Span,
  { names, folded, none }: ReturnType<typeof keys<Key>>,
): Record<Key, Span | null> | null {
  const found = { ...none };
  if (kindAt(bytes, span.start) !== "object") return found;
  let isClear = true;
  eachKey(bytes, span, (keyStart, keyEnd, start, end) => {
    const key = names.find((name) => isSpelled(bytes, keyStart, keyEnd, name));
    if (key === undefined) isClear = !isAlikeAt(bytes, keyStart, keyEnd, folded);
    else found[key] = { start, end };
    return isClear;
  });
  return isClear ? found : null;
}
