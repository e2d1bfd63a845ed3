import { foldName } from "../message/fold.ts";
import type { Json } from "../message/json.ts";
import type { MethodStatistics } from "./session-facts.ts";

/** The data of one session as plain values. A remote store keeps the same data. */
export interface SessionData {
  /** On the clock of the store. */
  startedAt: number;
  messages: number;
  readonly methods: Map<string, { -readonly [Name in keyof MethodStatistics]: MethodStatistics[Name] }>;
  calls: number;
  /** Calls by tool. */
  readonly tools: Map<string, number>;
  readonly state: Map<string, Json>;
  /**
   * The characters that each state entry takes, and their sum, so that a new entry can be checked without the others.
   */
  readonly sizes: Map<string, number>;
  characters: number;
}

/** One change to a session. Changes are increments or single writes, so several processes can write concurrently. */
export type SessionChange =
  /** A message was judged. `tookMs` is the time from a request to this response. */
  | { readonly change: "message"; readonly kind: MessageKind; readonly method: string | null; readonly tookMs: number }
  /** A tool was called. */
  | { readonly change: "call"; readonly tool: string }
  /** A rule set a state entry; undefined removes it. The last write of a key wins. */
  | { readonly change: "note"; readonly key: string; readonly value: Json | undefined };

/** The kinds of messages that are counted separately. */
export type MessageKind = "request" | "notification" | "result" | "error";

/** The size limits for the data of one session. */
export interface SessionBounds {
  /** How many methods, and how many tools, are counted separately. */
  readonly maxNames: number;
  /** How many characters the state may have: keys, and values as JSON. */
  readonly maxStateCharacters: number;
}

/** Methods and tools beyond `maxNames` are counted under this name. */
export const OTHERS = "(others)";

/** The data of a new session. */
export function createSessionData(startedAt: number): SessionData {
  const maps = { methods: new Map(), tools: new Map(), state: new Map(), sizes: new Map() };
  return { startedAt, messages: 0, calls: 0, characters: 0, ...maps };
}

/** Overwrites the data in place, so that records which refer to it see the new values. */
export function replaceData(data: SessionData, by: SessionData): void {
  for (const name of ["startedAt", "messages", "calls", "characters"] as const) data[name] = by[name];
  refill(data.methods, by.methods);
  refill(data.tools, by.tools);
  refill(data.state, by.state);
  refill(data.sizes, by.sizes);
}

function refill<Value>(map: Map<string, Value>, by: ReadonlyMap<string, Value>): void {
  map.clear();
  for (const [key, value] of by) map.set(key, value);
}

/** Applies one change. Returns false if there is no room for a state entry. */
export function applyChange(data: SessionData, change: SessionChange, bounds: SessionBounds, at: number): boolean {
  switch (change.change) {
    case "message":
      countMessage(data, change.kind, change.method, change.tookMs, bounds.maxNames, at);
      return true;
    case "call":
      countCallIn(data, change.tool, bounds.maxNames);
      return true;
    case "note":
      return noteIn(data, change.key, change.value, bounds.maxStateCharacters);
  }
}

/** Counts a message. */
export function countMessage(
  data: SessionData,
  kind: MessageKind,
  method: string | null,
  tookMs: number,
  maxNames: number,
  at: number,
): void {
  data.messages++;
  const name = nameIn(data.methods, method ?? OTHERS, maxNames);
  let one = data.methods.get(name);
  if (one === undefined) {
    one = { requests: 0, results: 0, errors: 0, notifications: 0, answeredInMs: 0, lastAt: 0 };
    data.methods.set(name, one);
  }
  one[COUNTED_AS[kind]]++;
  one.answeredInMs += tookMs;
  one.lastAt = at;
}

const COUNTED_AS = { request: "requests", notification: "notifications", result: "results", error: "errors" } as const;

/** Counts a call of a tool. */
export function countCallIn(data: SessionData, tool: string, maxNames: number): void {
  data.calls++;
  const name = nameIn(data.tools, alike(tool), maxNames);
  data.tools.set(name, (data.tools.get(name) ?? 0) + 1);
}

/** How many calls there were, of one tool or (null) of all tools. */
export function callsIn({ calls, tools }: SessionData, tool: string | null): number {
  // A call counted under `OTHERS` may have been of any tool. A count that is too high is the safe one.
  return tool === null ? calls : (tools.get(alike(tool)) ?? tools.get(OTHERS) ?? 0);
}

/** Sets a state entry; undefined removes it. Returns false if there is no room. */
export function noteIn(data: SessionData, key: string, value: Json | undefined, maxCharacters: number): boolean {
  const size = value === undefined ? 0 : key.length + lengthOf(value);
  const after = data.characters - (data.sizes.get(key) ?? 0) + size;
  if (value !== undefined && after > maxCharacters) return false;
  data.characters = after;
  data.state.delete(key); // so that the latest entry is last
  data.sizes.delete(key);
  if (value === undefined) return true;
  data.state.set(key, value);
  data.sizes.set(key, size);
  return true;
}

function lengthOf(value: Json): number {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one)).length;
}

/**
 * Names that differ only in letter case are counted together, because a careless server treats them as the same tool.
 */
function alike(tool: string): string {
  return foldName(tool) ?? tool;
}

/** The name itself, or `OTHERS` if there is no room for another name. */
function nameIn(counted: ReadonlyMap<string, unknown>, name: string, maxNames: number): string {
  return counted.has(name) || counted.size < maxNames ? name : OTHERS;
}
