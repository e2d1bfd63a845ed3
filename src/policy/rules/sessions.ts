import { foldName } from "../../message/fold.ts";
import type { Json } from "./rule.ts";
import type { MethodStatistics, SessionFacts } from "./view.ts";

/** What is remembered of one session. Counted here, and read by rules and people. */
export interface SessionRecord extends SessionFacts {
  readonly startedAt: number;
  /** Counts a message that is judged. `tookMs` is how long an answer was waited for. */
  count(kind: "request" | "notification" | "result" | "error", method: string | null, tookMs?: number): void;
  /** Counts a call of a tool. */
  countCall(tool: string): void;
  /** Notes something for rules to read; undefined takes it out. False where there is no room. */
  note(key: string, value: Json | undefined): boolean;
}

/** The sessions that are remembered. */
export interface SessionBook {
  /** The record of a session, begun where there is none. Using it keeps it. */
  of(id: string): SessionRecord;
  forget(id: string): void;
  /** All that are remembered, the one used last at the end. */
  all(): SessionRecord[];
  readonly size: number;
}

/** How much is remembered, and how long. */
export interface SessionBookOptions {
  readonly maxSessions: number;
  /** A session nobody has used for so long is forgotten. */
  readonly ttlMs: number;
  /** How many methods, and how many tools, are counted apart in one session. */
  readonly maxNames: number;
  /** How much may be noted in one session: keys and values as JSON, in characters. */
  readonly maxStateCharacters: number;
  readonly now: () => number;
}

/** What is counted under this name came when there were too many others. */
export const OTHERS = "(others)";

/** Makes a book in memory. Where it is full, the session that was used least lately goes first. */
export function createSessionBook(options: SessionBookOptions): SessionBook {
  const { maxSessions, ttlMs, now } = options;
  const sessions = new Map<string, { readonly id: string; readonly record: SessionRecord; usedAt: number }>(); // the one used last is last

  let last: { readonly id: string; readonly record: SessionRecord; usedAt: number } | null = null;

  function sweep(at: number): void {
    for (const [id, { usedAt }] of sessions) {
      if (usedAt + ttlMs > at && sessions.size <= maxSessions) return;
      sessions.delete(id);
    }
  }

  return {
    get size() {
      sweep(now());
      return sessions.size;
    },
    of(id) {
      const at = now();
      // Mostly the one that was used last: it is where it belongs.
      if (last !== null && last.id === id && last.usedAt + ttlMs > at) {
        last.usedAt = at;
        return last.record;
      }
      const known = sessions.get(id);
      const isFresh = known !== undefined && known.usedAt + ttlMs > at;
      const entry = isFresh ? known : { id, record: createRecord(id, options), usedAt: at };
      entry.usedAt = at;
      sessions.delete(id);
      sessions.set(id, entry);
      last = entry;
      sweep(at);
      return entry.record;
    },
    all() {
      sweep(now());
      return Array.from(sessions.values(), ({ record }) => record);
    },
    forget(id) {
      sessions.delete(id);
      if (last?.id === id) last = null;
    },
  };
}

function createRecord(id: string, { maxNames, maxStateCharacters, now }: SessionBookOptions): SessionRecord {
  const startedAt = now();
  const methods = new Map<string, { -readonly [Name in keyof MethodStatistics]: MethodStatistics[Name] }>();
  const calls = new Map<string, number>();
  const state = new Map<string, Json>();
  const sizes = new Map<string, number>();
  let messages = 0;
  let allCalls = 0;
  let characters = 0;

  return {
    id,
    startedAt,
    methods,
    state,
    get messages() {
      return messages;
    },
    ageMs: () => now() - startedAt,
    // What is counted among the others may be any of them: too high a number is the safe one.
    calls: (tool) => (tool === null ? allCalls : (calls.get(alike(tool)) ?? calls.get(OTHERS) ?? 0)),
    count(kind, method, tookMs = 0) {
      messages++;
      const name = nameIn(methods, method ?? OTHERS, maxNames);
      let one = methods.get(name);
      if (one === undefined) {
        one = { requests: 0, results: 0, errors: 0, notifications: 0, answeredInMs: 0, lastAt: 0 };
        methods.set(name, one);
      }
      one[COUNTED_AS[kind]]++;
      one.answeredInMs += tookMs;
      one.lastAt = now();
    },
    countCall(tool) {
      allCalls++;
      const name = nameIn(calls, alike(tool), maxNames);
      calls.set(name, (calls.get(name) ?? 0) + 1);
    },
    note(key, value) {
      const size = value === undefined ? 0 : key.length + lengthOf(value);
      const after = characters - (sizes.get(key) ?? 0) + size;
      if (value !== undefined && after > maxStateCharacters) return false;
      characters = after;
      state.delete(key);
      sizes.delete(key);
      if (value === undefined) return true;
      state.set(key, value);
      sizes.set(key, size);
      return true;
    },
  };
}

/** What is counted by method, as plain objects for programs. */
export function countsOf(methods: SessionFacts["methods"]): Record<string, Omit<MethodStatistics, "lastAt">> {
  // Names come from peers: an object of ours would have members of its own.
  const counts = Object.create(null) as Record<string, Omit<MethodStatistics, "lastAt">>;
  for (const [method, { requests, results, errors, notifications, answeredInMs }] of methods)
    counts[method] = { requests, results, errors, notifications, answeredInMs };
  return counts;
}

const COUNTED_AS = { request: "requests", notification: "notifications", result: "results", error: "errors" } as const;

/** A name in capitals is no other tool to a careless server, and begins no other count. */
function alike(tool: string): string {
  return foldName(tool) ?? tool;
}

/** The name itself while there is room for it. */
function nameIn(counted: ReadonlyMap<string, unknown>, name: string, maxNames: number): string {
  return counted.has(name) || counted.size < maxNames ? name : OTHERS;
}

function lengthOf(value: Json): number {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one)).length;
}
