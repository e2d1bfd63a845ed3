import { keyText, type TaskKey } from "./keys.ts";
import type { Maybe } from "./maybe.ts";

/** What is kept of the call that started a task. */
export interface TaskOrigin {
  readonly method: string;
  readonly tool: string | null;
  /** A copy of the call's params as JSON text; null if no rule looks into them. */
  readonly params: Buffer | null;
}

/**
 * Maps each task to the call that started it, so that the results of a task are judged as the response to that call.
 */
export interface Tasks {
  /** Stores a task, and replaces an earlier one with the same key. */
  remember(key: TaskKey, origin: TaskOrigin): Maybe<void>;
  /** The call that started a task; undefined if it is unknown or has expired. A lookup restarts the expiry time. */
  find(key: TaskKey): Maybe<TaskOrigin | undefined>;
}

/** Tasks kept in the memory of this process. */
export interface MemoryTasks extends Tasks {
  remember(key: TaskKey, origin: TaskOrigin): void;
  find(key: TaskKey): TaskOrigin | undefined;
  readonly size: number;
}

/** The clock, the limits and the expiry time. */
export interface MemoryTasksOptions {
  readonly maxTasks: number;
  readonly maxBytes: number;
  readonly ttlMs: number;
  readonly now: () => number;
}

/** Keeps tasks in memory. When a limit is reached, the least recently used task is removed first. */
export function createMemoryTasks({ maxTasks, maxBytes, ttlMs, now }: MemoryTasksOptions): MemoryTasks {
  const tasks = new Map<string, { readonly origin: TaskOrigin; readonly size: number; until: number }>();
  let bytes = 0;

  function drop(text: string): void {
    bytes -= tasks.get(text)?.size ?? 0;
    tasks.delete(text);
  }

  return {
    get size() {
      return tasks.size;
    },
    remember(key, origin) {
      const text = keyText(key);
      drop(text);
      const size = 2 * (text.length + origin.method.length) + (origin.params?.length ?? 0);
      if (size > maxBytes) return;
      tasks.set(text, { origin, size, until: now() + ttlMs });
      bytes += size;
      for (const oldest of tasks.keys()) {
        if (tasks.size <= maxTasks && bytes <= maxBytes) break;
        drop(oldest);
      }
    },
    find(key) {
      const text = keyText(key);
      const known = tasks.get(text);
      if (known === undefined) return undefined;
      if (known.until <= now()) {
        drop(text);
        return undefined;
      }
      // Move the task to the end, so that tasks nobody asks for are removed first.
      tasks.delete(text);
      known.until = now() + ttlMs;
      tasks.set(text, known);
      return known.origin;
    },
  };
}
