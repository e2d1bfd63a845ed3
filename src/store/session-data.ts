import { foldName } from "../message/fold.ts";
import type { Json } from "../message/json.ts";
import type { MethodStatistics } from "./session-facts.ts";

/** What is kept of one session, as plain data: a store elsewhere keeps the same. */
export interface SessionData {
  /** By the clock of the store. */
  startedAt: number;
  messages: number;
  readonly methods: Map<string, { -readonly [Name in keyof MethodStatistics]: MethodStatistics[Name] }>;
  calls: number;
  /** Calls by tool. */
  readonly tools: Map<string, number>;
  readonly state: Map<string, Json>;
  /** How many characters each note takes, and all together: so that a note costs no look at the others. */
  readonly sizes: Map<string, number>;
  characters: number;
}

/** Something that happened in a session. Changes add up, so it does not matter who else has written meanwhile. */
export type SessionChange =
  /** A message was judged. `tookMs` is how long an answer was waited for. */
  | { readonly change: "message"; readonly kind: MessageKind; readonly method: string | null; readonly tookMs: number }
  /** A tool was called. */
  | { readonly change: "call"; readonly tool: string }
  /** A rule noted something; undefined takes it out. The last one to write a key counts. */
  | { readonly change: "note"; readonly key: string; readonly value: Json | undefined };

/** The kinds of messages that are counted apart. */
export type MessageKind = "request" | "notification" | "result" | "error";

/** How much is kept of one session. */
export interface SessionBounds {
  /** How many methods, and how many tools, are counted apart in one session. */
  readonly maxNames: number;
  /** How much may be noted in one session: keys and values as JSON, in characters. */
  readonly maxStateCharacters: number;
}

/** What is counted under this name came when there were too many other names. */
export const OTHERS = "(others)";

/** A session in which nothing has happened yet. */
export function createSessionData(startedAt: number): SessionData {
  const maps = { methods: new Map(), tools: new Map(), state: new Map(), sizes: new Map() };
  return { startedAt, messages: 0, calls: 0, characters: 0, ...maps };
}

/** Makes a session what another one is, where it is: whoever holds it sees what is new. */
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

/** Makes one change. False where there is no room for a note. */
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

/** How many calls there were: of a tool, or of all. */
export function callsIn({ calls, tools }: SessionData, tool: string | null): number {
  // A call that is counted among the others may have been of any tool: too high a number is the safe one.
  return tool === null ? calls : (tools.get(alike(tool)) ?? tools.get(OTHERS) ?? 0);
}

/** Notes something; undefined takes it out. False where there is no room. */
export function noteIn(data: SessionData, key: string, value: Json | undefined, maxCharacters: number): boolean {
  const size = value === undefined ? 0 : key.length + lengthOf(value);
  const after = data.characters - (data.sizes.get(key) ?? 0) + size;
  if (value !== undefined && after > maxCharacters) return false;
  data.characters = after;
  data.state.delete(key); // the one noted last is last
  data.sizes.delete(key);
  if (value === undefined) return true;
  data.state.set(key, value);
  data.sizes.set(key, size);
  return true;
}

function lengthOf(value: Json): number {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one)).length;
}

/** A tool's name in other letter case is the same tool to a careless server, so it is counted with it. */
function alike(tool: string): string {
  return foldName(tool) ?? tool;
}

/** The name itself while there is room for it. */
function nameIn(counted: ReadonlyMap<string, unknown>, name: string, maxNames: number): string {
  return counted.has(name) || counted.size < maxNames ? name : OTHERS;
}
