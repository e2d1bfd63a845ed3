import { type AnswerCache, createAnswerCache } from "../action/answer-cache.ts";
import { createSessionBook, type SessionBook } from "../policy/rules/sessions.ts";
import { createTaskBook, type TaskBook } from "../policy/rules/tasks.ts";
import { createRateLimiter, type RateLimiter } from "../policy/rules/windows.ts";
import { createInputBook, type InputBook } from "./inputs.ts";

/** What rules remember from message to message. It outlives a reload of the policy. */
export interface ChainState {
  readonly limits: RateLimiter;
  readonly answers: AnswerCache;
  readonly sessions: SessionBook;
  readonly tasks: TaskBook;
  readonly inputs: InputBook;
}

/** How much is remembered; what is left out is ours. */
export interface ChainStateOptions {
  readonly ttlMs?: number | null;
  readonly maxSessions?: number | null;
  /** Of those that go beyond one request and its answer: tasks, and calls that wait for somebody's answers. */
  readonly maxConversations?: number | null;
  readonly now: () => number;
}

const DEFAULT_TTL_MS = 3_600_000;
const DEFAULT_MAX_SESSIONS = 10_000;
const MAX_NAMES = 256;
const MAX_STATE_CHARACTERS = 65_536;
const MAX_KEYS = 100_000;
const RESERVED_KEYS = 1000;
const MAX_MOMENTS = 1_000_000;
const MAX_CONVERSATIONS = 10_000;
const MAX_TASK_BYTES = 16 * 1024 * 1024;

/** Makes it, in memory. */
export function createChainState({ ttlMs, maxSessions, maxConversations, now }: ChainStateOptions): ChainState {
  const ttl = ttlMs ?? DEFAULT_TTL_MS;
  return {
    limits: createRateLimiter({ maxKeys: MAX_KEYS, reservedKeys: RESERVED_KEYS, maxMoments: MAX_MOMENTS, now }),
    answers: createAnswerCache({ now }),
    sessions: createSessionBook({
      maxSessions: maxSessions ?? DEFAULT_MAX_SESSIONS,
      ttlMs: ttl,
      maxNames: MAX_NAMES,
      maxStateCharacters: MAX_STATE_CHARACTERS,
      now,
    }),
    tasks: createTaskBook({
      maxTasks: maxConversations ?? MAX_CONVERSATIONS,
      maxBytes: MAX_TASK_BYTES,
      ttlMs: ttl,
      now,
    }),
    inputs: createInputBook(now, maxConversations ?? MAX_CONVERSATIONS),
  };
}
