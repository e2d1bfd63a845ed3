import { keepAnswer } from "../action/cache-answer.ts";
import { findMember, readString } from "../message/members.ts";
import { opposite } from "../message/message.ts";
import { innerOfResult, startedTask } from "../policy/rules/inner.ts";
import type { RuleIndex } from "../policy/rules/rule-index.ts";
import { taskScope } from "../policy/rules/tasks.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { hashCall } from "./inputs.ts";
import { type CallMemo, MAX_KEPT_BYTES, MAX_KEPT_PARAMS } from "./memo.ts";
import type { ChainState } from "./state.ts";
import { readClaimedClient } from "./view.ts";
import type { Walk } from "./walk.ts";

/** What is known of a request that goes on. */
type Kept = Pick<Walk, "turn" | "call"> & Pick<CallMemo, "caches" | "charged" | "forks">;

/** What somebody wants to know of a request when its answer comes this way. */
export type Wants = RuleIndex["keeps"];

/**
 * Keeps with a request what will be asked for when its answer comes, from the server or from us. `isForked` is where copies
 * of it are to be sent, so that somebody may be added to `forks` later.
 */
export function keepMemo({ turn, call, caches, charged, forks }: Kept, wants: Wants, isForked = false): void {
  const { opens, message } = turn;
  const { envelope, bytes, direction } = message;
  if (opens === undefined || call === undefined || envelope.kind !== "request") return;
  const method = envelope.method.name;
  const wanted = wants(opposite(direction), method);
  const isKept = wanted === "params";
  if (wanted === "nothing" && caches.length === 0 && charged.length === 0 && !isForked) return;
  const { params } = envelope;
  const size = params === null ? 0 : params.end - params.start;
  const room = (turn.session as Session).calls[direction].keptBytes();
  const fits = size <= MAX_KEPT_PARAMS && room + size <= MAX_KEPT_BYTES;
  const copied = isKept && fits && params !== null;
  const memo: CallMemo = {
    bytes: copied ? size : 0,
    // A copy: the message is a part of all that was read with it.
    params: copied
      ? { bytes: Buffer.from(bytes.subarray(params.start, params.end)), start: 0, end: size }
      : isKept && params === null
        ? null
        : undefined,
    caches,
    charged,
    forks,
    // By the handshake all of a session are known; without one, who asks says so in each request.
    client: turn.session.client() ?? readClaimedClient(bytes, params),
    hash: charged.length === 0 || params === null || size > MAX_KEPT_PARAMS ? null : hashCall(bytes, params),
  };
  call.memo = memo;
}

/** Counts a call of a tool that goes on. */
export function countCall({ opens }: Turn, session: Walk["session"]): void {
  if (opens?.method.name === "tools/call" && opens.subject !== null) session.countCall(opens.subject);
}

/** Keeps of an answer what others may ask for, and what it says about what is to come. */
export function learnFromAnswer({ message, answers, session }: Turn, state: ChainState): void {
  const { envelope, bytes } = message;
  if (answers === undefined) return;
  const memo = answers.memo as CallMemo | null;
  if (memo !== null) for (const watch of memo.forks) watch.answered(message);
  if (envelope.kind !== "result") return;
  const { result } = envelope;
  if (memo !== null && memo.caches.length > 0) keepForOthers(memo, message, state);
  // What is not there need not be looked for; that is found out fast.
  const has = (word: string): boolean => {
    const at = bytes.indexOf(word, result.start, "latin1");
    return at >= 0 && at < result.end;
  };
  if (has("taskId")) {
    const taskId = startedTask(bytes, result);
    const params = memo?.params?.bytes ?? null;
    const { method, subject } = answers;
    const tool = method.name === "tools/call" ? subject : null;
    // What is asked about a task starts none, whatever its answer looks like.
    if (taskId !== null && !method.name.startsWith("tasks/"))
      state.tasks.remember(taskScope(message.direction, session.scope), taskId, { method: method.name, tool, params });
  }
  if (!has("requestState")) return;
  const requestState = readString(bytes, findMember(bytes, result, "requestState"));
  if (requestState === null) return;
  const inner = innerOfResult(bytes, result, answers.method.name);
  const methods = new Map<string, string>();
  if (inner !== "unclear")
    for (const each of inner) if (each.kind === "request" && each.method !== null) methods.set(each.key, each.method);
  const { charged = [], hash = null } = memo ?? {};
  state.inputs.remember(session.scope, requestState, { hash, charged, methods });
}

function keepForOthers({ caches }: CallMemo, message: Turn["message"], { answers }: ChainState): void {
  const kept = keepAnswer(message);
  if ("not" in kept) return;
  for (const { key, ttlMs, scope } of caches) {
    // What the server says is for one only is not for all, whatever the rule says.
    if (scope === "private" || !kept.isPrivate) answers.keep(key, kept, ttlMs);
  }
}

/** The limits that a call was charged to before a server asked something, where this takes the same call up again. */
export function findExempt({ message, session }: Turn, { inputs }: ChainState): readonly string[] {
  const { envelope, bytes } = message;
  if (inputs.size === 0 || envelope.kind !== "request" || envelope.params === null) return NONE;
  if (envelope.params.end - envelope.params.start > MAX_KEPT_PARAMS) return NONE;
  const requestState = readString(bytes, findMember(bytes, envelope.params, "requestState"));
  const input = requestState === null ? undefined : inputs.find(session.scope, requestState);
  if (requestState === null || input === undefined || input.charged.length === 0) return NONE;
  if (input.hash !== hashCall(bytes, envelope.params)) return NONE;
  inputs.spend(session.scope, requestState);
  return input.charged;
}

const NONE: readonly string[] = [];
