import type { Direction } from "../message/message.ts";

/** The key under which a limit counts. */
export interface LimitKey {
  readonly of: "limit";
  /** Whether a rule or an interceptor has the limit. A rule and an interceptor with the same name count separately. */
  readonly owner: "rule" | "interceptor";
  readonly id: string;
  /** The index among the limits of one owner: two limits of one rule may have the same key and different windows. */
  readonly nth: number;
  /**
   * Whether the limit only observes. It is then counted separately, so that it starts from zero once it is enforced.
   */
  readonly watching: boolean;
  /** The owner's key template with its variables filled in. */
  readonly key: string;
}

/** The key of a cached response. It has everything that decides which other requests may be given the same response. */
export interface AnswerKey {
  readonly of: "answer";
  readonly scope: "private" | "shared";
  /** The client that a private response may be sent to again. Null for a shared response. */
  readonly audience: string | null;
  /** The server that sent the response. */
  readonly server: string;
  readonly rule: string;
  readonly era: string;
  readonly method: string;
  readonly subject: string | null;
  /** The rule's key template with its variables filled in. */
  readonly key: string;
}

/** The key under which the call that started a task is stored. */
export interface TaskKey {
  readonly of: "task";
  /**
   * The direction in which the side that runs the task sends its results. Without it, a client could name a server's
   * task as its own, and the results of that task would be judged as those of another call.
   */
  readonly side: Direction;
  /** The session key: a task id of one client means nothing to another. */
  readonly scope: string;
  readonly taskId: string;
}

/** The key of a call to which the server responded with input requests. */
export interface InputKey {
  readonly of: "input";
  readonly scope: string;
  /** The `requestState` in the server's response. */
  readonly state: string;
}

/** The key of a session. */
export interface SessionKey {
  readonly of: "session";
  readonly scope: string;
}

/** Every kind of key in the store. */
export type StoreKey = LimitKey | AnswerKey | TaskKey | InputKey | SessionKey;

/**
 * A key as one string, for a store that needs one. Two keys have the same string only if all their parts are equal,
 * whatever characters the peers put into them. The string is well-formed Unicode, so it stays distinct when it is
 * written as UTF-8: `JSON.stringify` escapes lone surrogates, which UTF-8 encoding would all turn into U+FFFD.
 */
export function keyText(key: StoreKey): string {
  return JSON.stringify(partsOf(key));
}

/**
 * The kind comes first, so that keys of two kinds are never equal. The parts of a limit that form its group (owner, id,
 * watching) come next.
 */
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

/** Whether two keys belong to the same limit, whether it is enforced or only observes. */
export function isSameLimit(one: LimitKey, other: LimitKey): boolean {
  return one.owner === other.owner && one.id === other.id && one.nth === other.nth && one.key === other.key;
}
