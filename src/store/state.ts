import { type Answers, createMemoryAnswers, type MemoryAnswers } from "./answers.ts";
import { createMemoryInputs, type Inputs, type MemoryInputs } from "./inputs.ts";
import { createMemoryLimits, type Limits, type MemoryLimits } from "./limits.ts";
import { createMemorySessions, type MemorySessions, type Sessions } from "./sessions.ts";
import { createMemoryTasks, type MemoryTasks, type Tasks } from "./tasks.ts";

/**
 * The state that rules keep between messages. It survives a reload of the policy file, and is kept in this process or
 * in a remote store: every method returns a value or a promise. If a method rejects, the message is not judged.
 * Returned values are copies and must not be modified.
 */
export interface ChainState {
  readonly limits: Limits;
  readonly answers: Answers;
  readonly sessions: Sessions;
  readonly tasks: Tasks;
  readonly inputs: Inputs;
}

/** State in the memory of this process. Its methods never return promises. */
export interface MemoryState extends ChainState {
  readonly limits: MemoryLimits;
  readonly answers: MemoryAnswers;
  readonly sessions: MemorySessions;
  readonly tasks: MemoryTasks;
  readonly inputs: MemoryInputs;
}

/** The clock and the limits; a missing limit has a default. */
export interface MemoryStateOptions {
  readonly ttlMs?: number | null;
  readonly maxSessions?: number | null;
  /** How many tasks, and how many calls that wait for inputs, are kept. */
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

/** Creates a state that is kept in memory. */
export function createMemoryState({ ttlMs, maxSessions, maxConversations, now }: MemoryStateOptions): MemoryState {
  const ttl = ttlMs ?? DEFAULT_TTL_MS;
  return {
    limits: createMemoryLimits({ maxKeys: MAX_KEYS, reservedKeys: RESERVED_KEYS, maxMoments: MAX_MOMENTS, now }),
    answers: createMemoryAnswers({ now }),
    sessions: createMemorySessions({
      maxSessions: maxSessions ?? DEFAULT_MAX_SESSIONS,
      ttlMs: ttl,
      maxNames: MAX_NAMES,
      maxStateCharacters: MAX_STATE_CHARACTERS,
      now,
    }),
    tasks: createMemoryTasks({
      maxTasks: maxConversations ?? MAX_CONVERSATIONS,
      maxBytes: MAX_TASK_BYTES,
      ttlMs: ttl,
      now,
    }),
    inputs: createMemoryInputs(now, maxConversations ?? MAX_CONVERSATIONS),
  };
}
