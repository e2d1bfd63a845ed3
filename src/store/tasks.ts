import { keyText, type TaskKey } from "./keys.ts";
import type { Maybe } from "./maybe.ts";

/** What is remembered of the call that started a task. */
export interface TaskOrigin {
  readonly method: string;
  readonly tool: string | null;
  /** A copy of its params, as JSON text, where some rule will look into them. */
  readonly params: Buffer | null;
}

/** Which call started which task, so that what a task brings is judged as that call's answer. */
export interface Tasks {
  /** Remembers a task, in place of an earlier one with the same key. */
  remember(key: TaskKey, origin: TaskOrigin): Maybe<void>;
  /** The call that started a task; undefined where that is not known, or not any more. To ask for a task keeps it. */
  find(key: TaskKey): Maybe<TaskOrigin | undefined>;
}

/** Tasks that are remembered in the memory of this process. */
export interface MemoryTasks extends Tasks {
  remember(key: TaskKey, origin: TaskOrigin): void;
  find(key: TaskKey): TaskOrigin | undefined;
  readonly size: number;
}

/** How many tasks are remembered, and for how long. */
export interface MemoryTasksOptions {
  readonly maxTasks: number;
  readonly maxBytes: number;
  readonly ttlMs: number;
  readonly now: () => number;
}

/** Remembers tasks in memory. Where there is no room, the task that was not asked for longest goes first. */
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
      // A task that is asked for again and again is kept: those that nobody asks for are dropped first.
      tasks.delete(text);
      known.until = now() + ttlMs;
      tasks.set(text, known);
      return known.origin;
    },
  };
}
