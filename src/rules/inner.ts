import type { Span } from "../message/envelope.ts";
import { fold, isAlikeAt } from "../message/fold.ts";
import { eachKey, findMember, readString } from "../message/members.ts";
import { isSpelled } from "../message/spelling.ts";
import { readText } from "../message/text.ts";
import { kindAt } from "./fields.ts";

/** A message inside another message. Its spans refer to the bytes of the outer one. */
export type InnerMessage =
  /** An input request: what a server asks of a client in its response to a call. */
  | { readonly kind: "request"; readonly key: string; readonly method: string | null; readonly params: Span | null }
  /** The client's response to an input request, in the request that retries the call. */
  | { readonly kind: "response"; readonly key: string; readonly result: Span }
  /** The result or error of a task: the response that the call would have got without the task. */
  | { readonly kind: "result"; readonly taskId: string; readonly result: Span }
  | { readonly kind: "error"; readonly taskId: string; readonly error: Span };

/** The largest number of inner messages in one message. A message with more is "unclear". */
export const MAX_INNER_MESSAGES = 1000;

/** The messages inside another one; "unclear" if there are too many, or if peers could read them differently. */
export type InnerMessages = readonly InnerMessage[] | "unclear";

/**
 * The messages inside a result. Since 2026-07-28, servers send requests for sampling, elicitation and roots in the
 * results of calls (`inputRequests`), and the result or error of a task is a member of the response to `tasks/get`;
 * before that, the response to `tasks/result` was the bare result of the call. `taskId` is the task that was asked
 * about. Clients may read any member that is there, whatever `resultType` says, so this goes by the members.
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

/** The messages inside the params of a request or notification: responses to input requests, or the state of a task. */
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
 * The methods that a client's response to an input request may belong to, judged by its members. Needed because a
 * server may leave out the `requestState` by which the proxy would know the input request. Several methods if it could
 * be any of them; null if it fits none.
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

/** Requests whose response is the state of a task. */
const TASK_STATES = new Set(["tasks/get", "tasks/update", "tasks/cancel"]);

/** Notifications that contain the state of a task. */
const TASK_NEWS = new Set(["notifications/tasks", "notifications/tasks/status"]);

/**
 * The id of the task that was started instead of responding at once, in the form of any revision that has tasks; or
 * null.
 */
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
  // Use the id from the request. The response could name another task.
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

/** A set of keys to look for, and their folded forms, which a careless peer reads as the same keys. */
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

/** The members with these keys. Null if another key is so similar that some peer would read it as one of them. */
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
