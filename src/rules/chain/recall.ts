import { findMember, readString } from "../../message/members.ts";
import type { Turn } from "../../session/turn.ts";
import { whenKnown } from "../../store/maybe.ts";
import type { ChainState } from "../../store/state.ts";
import type { TaskOrigin } from "../../store/tasks.ts";
import type { InnerMessages } from "../inner.ts";

/**
 * What the store knows about the messages inside one message. It is loaded once, and can then be read synchronously
 * whenever the message is changed.
 */
export interface Recall {
  /** Loads what is not loaded yet. Returns a promise only if the store does. */
  load(turn: Turn, found: InnerMessages): void | Promise<void>;
  /** The call that started a task; undefined if unknown. */
  taskOrigin(taskId: string): TaskOrigin | undefined;
  /** The method of the input request with this key, if the proxy has seen it; null if unknown. */
  methodAsked(key: string): string | null;
}

/** Creates an empty recall for one message. */
export function createRecall({ tasks, inputs }: ChainState): Recall {
  const origins = new Map<string, TaskOrigin | undefined>();
  let asked: { readonly state: string; methods: ReadonlyMap<string, string> | null } | null = null;

  function loadTask({ message, session }: Turn, taskId: string): void | Promise<void> {
    if (origins.has(taskId)) return;
    const origin = tasks.find({ of: "task", side: message.direction, scope: session.scope, taskId });
    if (!(origin instanceof Promise)) return void origins.set(taskId, origin);
    origins.set(taskId, undefined); // stays so if the store fails
    return origin.then((known) => void origins.set(taskId, known));
  }

  function loadAsked({ message, session }: Turn): void | Promise<void> {
    const { envelope, bytes } = message;
    if (envelope.kind !== "request" || envelope.params === null) return;
    const state = readString(bytes, findMember(bytes, envelope.params, "requestState"));
    if (state === null || asked?.state === state) {
      if (state === null) asked = null;
      return;
    }
    const one = { state, methods: null as ReadonlyMap<string, string> | null };
    asked = one;
    const input = inputs.find({ of: "input", scope: session.scope, state });
    return whenKnown(input, (known) => {
      one.methods = known?.methods ?? null;
    });
  }

  return {
    load(turn, found) {
      if (found === "unclear") return;
      const waits: Promise<void>[] = [];
      const add = (wait: void | Promise<void>): void => {
        if (wait !== undefined) waits.push(wait);
      };
      if (found.some(({ kind }) => kind === "response")) add(loadAsked(turn));
      for (const inner of found)
        if (inner.kind === "result" || inner.kind === "error") add(loadTask(turn, inner.taskId));
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
    },
    taskOrigin: (taskId) => origins.get(taskId),
    methodAsked: (key) => asked?.methods?.get(key) ?? null,
  };
}
