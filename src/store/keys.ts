import type { Direction } from "../message/message.ts";

/** What a limit counts under. */
export interface LimitKey {
  readonly of: "limit";
  /** Whose limit it is. A rule and an interceptor of the same name count apart. */
  readonly owner: "rule" | "interceptor";
  readonly id: string;
  /** Which of its owner's limits it is: two limits of one rule may have the same key and different windows. */
  readonly nth: number;
  /** Whether the limit is only watched. What is watched counts apart: a limit that acts later starts from nothing. */
  readonly watching: boolean;
  /** What the owner counts by, with its variables filled in. */
  readonly key: string;
}

/** What a cached answer is kept under: who asks what, as far as it decides who else may be given the answer. */
export interface AnswerKey {
  readonly of: "answer";
  readonly scope: "private" | "shared";
  /** Who may be given a private answer again. Null for a shared one. */
  readonly audience: string | null;
  /** Which server answers. */
  readonly server: string;
  readonly rule: string;
  readonly era: string;
  readonly method: string;
  readonly subject: string | null;
  /** The key of the rule, with its variables filled in. */
  readonly key: string;
}

/** What the origin of a task is kept under. */
export interface TaskKey {
  readonly of: "task";
  /**
   * The direction that what the task brings is sent in: whoever sends it runs the task. Without it, a client could name a
   * task of the server as its own, and have what that brings judged as something else.
   */
  readonly side: Direction;
  /** Whose conversation it is: task ids of one client mean nothing to another. */
  readonly scope: string;
  readonly taskId: string;
}

/** What a call that a server answered with questions is kept under. */
export interface InputKey {
  readonly of: "input";
  readonly scope: string;
  /** The `requestState` that the server gave it. */
  readonly state: string;
}

/** What a session is kept under. */
export interface SessionKey {
  readonly of: "session";
  readonly scope: string;
}

/** Every key under which something is kept. */
export type StoreKey = LimitKey | AnswerKey | TaskKey | InputKey | SessionKey;

/**
 * A key as one string, for a store that needs one. Two keys have the same string only if all their parts are the same,
 * whatever characters peers put into them. The string is well-formed Unicode, so it stays distinct when it is written as
 * UTF-8: `JSON.stringify` escapes a lone surrogate, which UTF-8 would turn into U+FFFD like any other.
 */
export function keyText(key: StoreKey): string {
  return JSON.stringify(partsOf(key));
}

/** The kind comes first, so that keys of two kinds never meet. For a limit its group comes next: see `limitGroup`. */
function partsOf(key: StoreKey): readonly (string | number | boolean | null)[] {
  switch (key.of) {
    case "limit":
      return [key.of, key.owner, key.id, key.watching, key.nth, key.key];
    case "answer":
      return [key.of, key.scope, key.audience, key.server, key.rule, key.era, key.method, key.subject, key.key];
    case "task":
      return [key.of, key.side, key.scope, key.taskId];
    case "input":
      return [key.of, key.scope, key.state];
    case "session":
      return [key.of, key.scope];
  }
}

/** Whether two keys mean the same limit, watched or not. */
export function isSameLimit(one: LimitKey, other: LimitKey): boolean {
  return one.owner === other.owner && one.id === other.id && one.nth === other.nth && one.key === other.key;
}
