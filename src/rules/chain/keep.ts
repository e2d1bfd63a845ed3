import { keepAnswer } from "../cache-answer.ts";
import { findMember, readString } from "../../message/members.ts";
import { type Message, opposite } from "../../message/message.ts";
import { innerOfResult, startedTask } from "../inner.ts";
import type { RuleIndex } from "../rule-index.ts";
import type { InputKey, LimitKey } from "../../store/keys.ts";
import type { Maybe } from "../../store/maybe.ts";
import type { Call } from "../../session/call.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import { hashCall } from "../../store/inputs.ts";
import { type CallMemo, MAX_KEPT_BYTES, MAX_KEPT_PARAMS, memoOf } from "./memo.ts";
import type { ChainState } from "../../store/state.ts";
import { readClaimedClient } from "./turn-view.ts";
import type { Walk } from "./walk.ts";

/** The data of a request that is forwarded. */
type Kept = Pick<Walk, "turn" | "call"> & Pick<CallMemo, "caches" | "charged" | "forks">;

/** What rules and interceptors need of a request when its response is sent in this direction. */
export type Wants = RuleIndex["keeps"];

/**
 * Keeps with an open call the data that is needed to judge its response, from the server or from the proxy. With
 * `isForked`, copies of the request will be sent, and `forks` may be filled later.
 */
export function keepMemo(
  { turn, call, caches, charged, forks }: Kept,
  wants: Wants,
  chain: string | null,
  isForked = false,
): void {
  const { opens, message } = turn;
  const { envelope, bytes, direction } = message;
  if (opens === undefined || call === undefined || envelope.kind !== "request") return;
  const method = envelope.method.name;
  const wanted = wants(opposite(direction), method);
  const isKept = wanted === "params";
  if (wanted === "nothing" && caches.length === 0 && charged.length === 0 && !isForked) return;
  const { params } = envelope;
  const size = params === null ? 0 : params.end - params.start;
  const table = (turn.session as Session).calls[direction];
  const room = chain === null ? table.keptBytes() : table.keptBeside();
  const fits = size <= MAX_KEPT_PARAMS && room + size <= MAX_KEPT_BYTES;
  const copied = isKept && fits && params !== null;
  const memo: CallMemo = {
    bytes: copied ? size : 0,
    // Copy the bytes: they are a view of the read buffer and would keep all of it in memory.
    params: copied
      ? { bytes: Buffer.from(bytes.subarray(params.start, params.end)), start: 0, end: size }
      : isKept && params === null
        ? null
        : undefined,
    caches,
    charged,
    forks,
    // The handshake names the client for the whole session. Without a handshake, each request names it.
    client: turn.session.client() ?? readClaimedClient(bytes, params),
    hash: charged.length === 0 || params === null || size > MAX_KEPT_PARAMS ? null : hashCall(bytes, params),
  };
  if (chain === null) call.memo = memo;
  else call.beside?.keep(chain, memo);
}

/** The tool that a message calls; null if it is not a tool call. */
export function calledTool({ opens }: Turn): string | null {
  return opens?.method.name === "tools/call" ? opens.subject : null;
}

/**
 * Stores what a response contains for later messages: cacheable results, started tasks and input requests. Returns a
 * promise for the data by which later messages are judged. Caching is not awaited; `onTrouble` is called if it fails.
 */
export function learnFromAnswer(
  { message, answers, session }: Turn,
  state: ChainState,
  chain: string | null,
  onTrouble: (error: unknown) => void,
): Maybe<void> {
  const { envelope, bytes } = message;
  if (answers === undefined) return;
  const memo = memoOf(answers, chain);
  if (memo !== null) for (const watch of memo.forks) watch.answered(message);
  if (envelope.kind !== "result") return;
  const { result } = envelope;
  if (memo !== null && memo.caches.length > 0) keepForOthers(memo, message, state, onTrouble);
  // Cheap check first: most responses do not contain the word.
  const has = (word: string): boolean => {
    const at = bytes.indexOf(word, result.start, "latin1");
    return at >= 0 && at < result.end;
  };
  const remembered = has("taskId") ? rememberTask(answers, memo, message, session.scope, state) : undefined;
  if (!has("requestState")) return remembered;
  const requestState = readString(bytes, findMember(bytes, result, "requestState"));
  if (requestState === null) return remembered;
  const inner = innerOfResult(bytes, result, answers.method.name);
  const methods = new Map<string, string>();
  if (inner !== "unclear")
    for (const each of inner) if (each.kind === "request" && each.method !== null) methods.set(each.key, each.method);
  const { charged = [], hash = null } = memo ?? {};
  const key: InputKey = { of: "input", scope: session.scope, state: requestState };
  const open = state.inputs.remember(key, { hash, charged, methods });
  if (remembered === undefined || open === undefined) return remembered ?? open;
  return Promise.all([remembered, open]).then(() => {});
}

function rememberTask(
  { method, subject }: Call,
  memo: CallMemo | null,
  { bytes, envelope, direction }: Message,
  scope: string,
  { tasks }: ChainState,
): Maybe<void> {
  // A request about a task does not start one, whatever its response looks like.
  if (envelope.kind !== "result" || method.name.startsWith("tasks/")) return;
  const taskId = startedTask(bytes, envelope.result);
  if (taskId === null) return;
  const tool = method.name === "tools/call" ? subject : null;
  const params = memo?.params?.bytes ?? null;
  return tasks.remember({ of: "task", side: direction, scope, taskId }, { method: method.name, tool, params });
}

function keepForOthers(
  { caches }: CallMemo,
  message: Message,
  { answers }: ChainState,
  onTrouble: (error: unknown) => void,
): void {
  const kept = keepAnswer(message);
  if ("not" in kept) return;
  for (const { key, ttlMs, scope } of caches) {
    // A result that the server marked as private is not shared, whatever the rule says.
    if (scope === "shared" && kept.isPrivate) continue;
    const keeping = answers.keep(key, kept, ttlMs);
    // Not awaited: a request that misses the cache goes to the server.
    if (keeping !== undefined) keeping.catch(onTrouble);
  }
}

/**
 * The limits that a call was counted against before the server asked for inputs, if this request retries the same call.
 */
export function findExempt({ message, session }: Turn, { inputs }: ChainState): Maybe<readonly LimitKey[]> {
  const { envelope, bytes } = message;
  if (inputs.isEmpty() || envelope.kind !== "request" || envelope.params === null) return NONE;
  const { params } = envelope;
  if (params.end - params.start > MAX_KEPT_PARAMS) return NONE;
  const requestState = readString(bytes, findMember(bytes, params, "requestState"));
  if (requestState === null) return NONE;
  return inputs.spend({ of: "input", scope: session.scope, state: requestState }, () => hashCall(bytes, params));
}

const NONE: readonly LimitKey[] = [];
