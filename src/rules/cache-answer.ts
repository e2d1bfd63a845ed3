import type { CachedAnswer } from "../store/answers.ts";
import { META_KEYS } from "../message/protocol.ts";
import type { AnswerKey } from "../store/keys.ts";
import { OPEN_OBJECT } from "../message/characters.ts";
import { splice } from "../message/edit.ts";
import { flatten } from "../message/flatten.ts";
import { fold, isAlike } from "../message/fold.ts";
import { eachMember, findMember, readString } from "../message/members.ts";
import { type Message, whole } from "../message/message.ts";
import type { Era } from "../message/protocol.ts";

/** What is asked and by whom, as far as it decides which other requests may get the cached response. */
export interface CacheQuestion {
  /** The rule's key template with its variables filled in. */
  readonly key: string;
  readonly rule: string;
  readonly scope: "private" | "shared";
  /** The server that sends the response. */
  readonly server: string;
  readonly era: Era;
  readonly method: string;
  readonly subject: string | null;
  /** The client that a private response may be sent to again; null if the client cannot be identified. */
  readonly audience: string | null;
}

/** Why a request must not be answered from the cache, nor its response be cached; null if it may. */
export function refuseToCache({ bytes, envelope, direction }: Message): string | null {
  if (envelope.kind !== "request" || direction !== "up") return "only what a client asks for is kept";
  if (UNKEPT.has(envelope.method.name) || envelope.method.name.startsWith("tasks/"))
    return `${envelope.method.name} does more than ask`;
  if (envelope.params === null) return null;
  let reason: string | null = null;
  eachMember(bytes, envelope.params, (key) => {
    if (key === "inputResponses" || key === "requestState") reason = "it continues what was begun";
    else if (key === "task") reason = "it begins a task";
  });
  return reason;
}

// These methods change something, or their response is valid for one connection only.
const UNKEPT = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "subscriptions/listen",
]);

/** The cache key. Null if the response is private and the client cannot be identified. */
export function answerKey({ audience, ...question }: CacheQuestion): AnswerKey | null {
  if (question.scope === "shared") return { of: "answer", ...question, audience: null };
  return audience === null ? null : { of: "answer", ...question, audience };
}

/**
 * The part of a response to cache, or why it must not be cached. Errors, input requests and task handles are never
 * cached, nor are results with `isError`.
 */
export function keepAnswer({ bytes, envelope }: Message): CachedAnswer | { readonly not: string } {
  if (envelope.kind !== "result") return { not: "it is not a result" };
  const { result } = envelope;
  if (bytes[result.start] !== OPEN_OBJECT) return { not: "its result is not an object" };
  let not: string | null = null;
  let ttlMs: number | null = null;
  let isPrivate = false;
  eachMember(bytes, result, (key, value) => {
    const text = bytes.toString("latin1", value.start, Math.min(value.end, value.start + MAX_LOOK_BYTES));
    switch (key) {
      case "resultType":
        if (readString(bytes, value) !== "complete") not = "it is not complete";
        break;
      case "isError":
        if (text !== "false") not = "it says that something went wrong";
        break;
      case "inputRequests":
        not = "it asks for more";
        break;
      case "task":
      case "taskId":
        not = "it says that a task has begun";
        break;
      case "ttlMs":
        ttlMs = Number(text);
        break;
      case "cacheScope":
        isPrivate ||= readString(bytes, value) !== "public";
        break;
      case "_meta":
        if (findMember(bytes, value, META_KEYS.relatedTask) !== null) not = "it belongs to a task";
        break;
      default:
        // Some clients would read this key as one of the above.
        if (key.length > MAX_KEY_CHARACTERS || isAlike(key, GUARDED)) not = "it can be read in two ways";
    }
  });
  if (not !== null) return { not };
  if (ttlMs !== null && !(ttlMs > 0)) return { not: "it holds for this moment only" };
  // Copy the bytes: they are a view of the read buffer and would keep all of it in memory.
  const copy = Buffer.from(flatten({ bytes, ...result, ascii: false }));
  return { result: copy, ttlMs, isPrivate };
}

const MAX_LOOK_BYTES = 40;
const MAX_KEY_CHARACTERS = 1024;
const GUARDED = new Set(["resultType", "isError", "inputRequests", "task", "taskId", "ttlMs", "cacheScope"].map(fold));

/** The cached result with its `ttlMs` reduced to the remaining time. */
export function resultFromCache({ result, ttlMs }: CachedAnswer, ageMs: number): Buffer {
  const place = ttlMs === null ? null : findMember(result, { start: 0, end: result.length }, "ttlMs");
  if (place === null || ttlMs === null) return result;
  const left = Math.max(0, Math.floor(ttlMs - ageMs));
  return splice(whole(result), [{ span: place, by: Buffer.from(String(left)) }]);
}
