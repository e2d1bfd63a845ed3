import { fold } from "./fold.ts";
import { isAt, takeWords, viewOf, type Words } from "./words.ts";

/**
 * How closely a message is examined: `pass` is audited only on request, `log` is audited, `review` is judged by policy.
 */
export type Class = "pass" | "log" | "review";

/** The facts about a method that do not depend on a message. */
export interface Method {
  readonly name: string;
  readonly class: Class;
  /** Who may send it. */
  readonly sender: "client" | "server" | "both";
  /** Whether it is a request, a notification, or unknown and therefore either. */
  readonly form: "request" | "notification" | "either";
  /** The member of `params` that names what a request is about. */
  readonly subject: "name" | "uri" | "taskId" | null;
}

// Revisions 2024-11-05 to 2026-07-28 and the extensions published with them. The classes of the first rows are fixed by
// the relay's contract. The later methods follow the same principle: a method that runs something, reads content, or
// asks a person or a model is `review`; the other requests are `log`.
/** Every known method. */
export const METHODS: readonly Method[] = [
  method("initialize", "pass", "client"),
  method("ping", "pass", "both"),
  method("server/discover", "pass", "client"),
  method("tools/list", "log", "client"),
  method("tools/call", "review", "client", "name"),
  method("resources/list", "log", "client"),
  method("resources/templates/list", "log", "client"),
  method("resources/read", "review", "client", "uri"),
  method("resources/directory/read", "review", "client", "uri"),
  method("resources/subscribe", "log", "client", "uri"),
  method("resources/unsubscribe", "log", "client", "uri"),
  method("prompts/list", "log", "client"),
  method("prompts/get", "log", "client", "name"),
  method("completion/complete", "log", "client"),
  method("logging/setLevel", "log", "client"),
  method("subscriptions/listen", "log", "client"),
  method("skills/list", "log", "client"),
  method("skills/get", "log", "client"),
  method("sampling/createMessage", "review", "server"),
  method("elicitation/create", "review", "server"),
  method("roots/list", "log", "server"),
  method("tasks/get", "log", "both", "taskId"),
  method("tasks/result", "log", "both", "taskId"),
  method("tasks/list", "log", "both"),
  method("tasks/cancel", "log", "both", "taskId"),
  method("tasks/update", "review", "client", "taskId"),
  notice("initialized", "client"),
  notice("notifications/initialized", "client"),
  notice("notifications/roots/list_changed", "client"),
  notice("notifications/cancelled", "both"),
  notice("notifications/progress", "both"),
  notice("notifications/tasks/status", "both"),
  notice("notifications/message", "server"),
  notice("notifications/resources/updated", "server"),
  notice("notifications/resources/list_changed", "server"),
  notice("notifications/tools/list_changed", "server"),
  notice("notifications/prompts/list_changed", "server"),
  notice("notifications/elicitation/complete", "server"),
  notice("notifications/subscriptions/acknowledged", "server"),
  notice("notifications/tasks", "server"),
];

/** Longer method names are refused. */
export const MAX_METHOD_BYTES = 1024;

/** The known method whose name is at a span, or undefined. */
export function findMethod(bytes: Buffer, start: number, end: number): Method | undefined {
  const length = end - start;
  const entry = INDEX[(length << 5) | (bytes[end - 1] & 31)];
  if (entry === undefined || entry.words.length !== length) return undefined;
  return isAt(entry.words, viewOf(bytes), start, end) ? entry.method : undefined;
}

/**
 * The facts about a method, by its name. Null for an unknown name that a careless router could take for a known one. An
 * unknown `notifications/` method counts as a notification only if its message has no id.
 */
export function describeMethod(name: string, hasId = true): Method | null {
  const known = BY_NAME.get(name);
  if (known !== undefined) return known;
  if (FOLDED.has(fold(name))) return null;
  return {
    name,
    class: !hasId && name.startsWith("notifications/") ? "pass" : "log",
    sender: "both",
    form: "either",
    subject: null,
  };
}

/** Whether the protocol defines a method. */
export function isKnownMethod(name: string): boolean {
  return BY_NAME.has(name);
}

/** Whether a message with this method may go in this direction. */
export function maySend(sender: Method["sender"], direction: "up" | "down"): boolean {
  return sender === "both" || (sender === "client") === (direction === "up");
}

const BY_NAME = new Map(METHODS.map((entry) => [entry.name, entry]));
const FOLDED = new Set(METHODS.map((entry) => fold(entry.name)));

// By length and last letter, because many names begin alike. If two share a place, the second is found by BY_NAME.
const INDEX: ({ words: Words; method: Method } | undefined)[] = Array.from({ length: 64 * 32 });
for (const entry of METHODS) {
  const { length } = entry.name;
  const view = viewOf(Buffer.from(entry.name));
  INDEX[(length << 5) | (entry.name.charCodeAt(length - 1) & 31)] ??= {
    words: takeWords(view, 0, length),
    method: entry,
  };
}

function method(name: string, level: Class, sender: Method["sender"], subject: Method["subject"] = null): Method {
  return { name, class: level, sender, form: "request", subject };
}

function notice(name: string, sender: Method["sender"]): Method {
  return { name, class: "pass", sender, form: "notification", subject: null };
}
