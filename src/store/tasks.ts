import type { Direction } from "../message/message.ts";

/** What is remembered of the call that started a task. */
export interface TaskOrigin {
  readonly method: string;
  readonly tool: string | null;
  /** A copy of its params, as JSON text, where some rule will look into them. */
  readonly params: Buffer | null;
}

/** Which call started which task, so that what a task brings is judged as that call's answer. */
export interface TaskBook {
  remember(scope: string, taskId: string, origin: TaskOrigin): void;
  find(scope: string, taskId: string): TaskOrigin | undefined;
  forget(scope: string, taskId: string): void;
  readonly size: number;
}

/**
 * Whose tasks they are: those that one side runs, in one conversation. Whoever sends what a task brings runs it. Without
 * the side, a client could call the server's task its own, and have what that brings judged as something else.
 */
export function taskScope(sender: Direction, scope: string): string {
  return `${sender} ${scope}`;
}

/** How much a book holds. */
export interface TaskBookOptions {
  readonly maxTasks: number;
  readonly maxBytes: number;
  readonly ttlMs: number;
  readonly now: () => number;
}

/** Makes a book. The scope is whose tasks they are: ids of one client mean nothing to another. */
export function createTaskBook({ maxTasks, maxBytes, ttlMs, now }: TaskBookOptions): TaskBook {
  const tasks = new Map<string, { readonly origin: TaskOrigin; readonly size: number; until: number }>();
  let bytes = 0;

  function drop(key: string): void {
    bytes -= tasks.get(key)?.size ?? 0;
    tasks.delete(key);
  }

  return {
    get size() {
      return tasks.size;
    },
    remember(scope, taskId, origin) {
      const key = keyOf(scope, taskId);
      drop(key);
      const size = 2 * (key.length + origin.method.length) + (origin.params?.length ?? 0);
      if (size > maxBytes) return;
      tasks.set(key, { origin, size, until: now() + ttlMs });
      bytes += size;
      for (const oldest of tasks.keys()) {
        if (tasks.size <= maxTasks && bytes <= maxBytes) break;
        drop(oldest);
      }
    },
    find(scope, taskId) {
      const key = keyOf(scope, taskId);
      const known = tasks.get(key);
      if (known === undefined) return undefined;
      if (known.until <= now()) {
        drop(key);
        return undefined;
      }
      // Who asks for a task again and again keeps it: the oldest are those nobody asks for.
      tasks.delete(key);
      known.until = now() + ttlMs;
      tasks.set(key, known);
      return known.origin;
    },
    forget: (scope, taskId) => drop(keyOf(scope, taskId)),
  };
}

function keyOf(scope: string, taskId: string): string {
  return `${scope.length}:${scope}${taskId}`;
}
