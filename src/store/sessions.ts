import type { Json } from "../message/json.ts";
import type { Maybe } from "./maybe.ts";
import {
  callsIn,
  countCallIn,
  countMessage,
  createSessionData,
  type MessageKind,
  noteIn,
  type SessionBounds,
  type SessionChange,
  type SessionData,
} from "./session-data.ts";
import type { MethodStatistics, SessionFacts } from "./session-facts.ts";

/**
 * The record of one session. It is loaded once for each message and then read synchronously. Changes are visible here
 * at once and are written when the record is saved.
 */
export interface SessionRecord extends SessionFacts {
  /** Counts a judged message. `tookMs` is the time from a request to this response. */
  count(kind: MessageKind, method: string | null, tookMs?: number): void;
  /** Counts a call of a tool. */
  countCall(tool: string): void;
  /** Sets a state entry for rules to read; undefined removes it. Returns false if there is no room. */
  note(key: string, value: Json | undefined): boolean;
  /**
   * Releases the record, once for each `load`, and writes all changes together. A later `load` of the same session must
   * see the changes or fail: rules must not miss what an earlier message did. A store that executes its commands in
   * order may therefore return at once and write later.
   */
  save(): Maybe<void>;
}

/** All stored sessions. */
export interface Sessions {
  /**
   * Loads the record of a session, or creates one. Loading restarts the session's expiry time. Messages of one process
   * see each other's changes before they are saved; other processes see only what was saved. Counters that must be
   * exact across processes are limits.
   */
  load(scope: string): Maybe<SessionRecord>;
  /**
   * Counts a message that no rule looks at, and a tool call if it is one, without loading the record. Later loads see
   * it as described at `SessionRecord.save`.
   */
  count(scope: string, kind: MessageKind, method: string | null, tookMs: number, tool: string | null): Maybe<void>;
}

/** Sessions in the memory of this process. All messages of a session share one live record. */
export interface MemorySessions extends Sessions {
  load(scope: string): SessionRecord;
  count(scope: string, kind: MessageKind, method: string | null, tookMs: number, tool: string | null): void;
  /** All sessions, the most recently used last. */
  all(): SessionRecord[];
  readonly size: number;
}

/** The clock, the limits and the expiry time. */
export interface MemorySessionsOptions extends SessionBounds {
  readonly maxSessions: number;
  /** A session that is not used for this long is removed. */
  readonly ttlMs: number;
  readonly now: () => number;
}

interface Entry {
  readonly scope: string;
  readonly data: SessionData;
  readonly record: SessionRecord;
  usedAt: number;
}

/** Keeps sessions in memory. When `maxSessions` is reached, the least recently used session is removed first. */
export function createMemorySessions(options: MemorySessionsOptions): MemorySessions {
  const { maxSessions, ttlMs, maxNames, now } = options;
  const sessions = new Map<string, Entry>(); // most recently used last
  let last: Entry | null = null;

  function sweep(at: number): void {
    for (const [scope, { usedAt }] of sessions) {
      if (usedAt + ttlMs > at && sessions.size <= maxSessions) return;
      sessions.delete(scope);
    }
  }

  function use(scope: string, at: number): Entry {
    // Fast path: mostly it is the session used last, which is already at the end of the map.
    if (last !== null && last.scope === scope && last.usedAt + ttlMs > at) {
      last.usedAt = at;
      return last;
    }
    const known = sessions.get(scope);
    const isFresh = known !== undefined && known.usedAt + ttlMs > at;
    const entry = isFresh ? known : begin(scope, at);
    entry.usedAt = at;
    sessions.delete(scope);
    sessions.set(scope, entry);
    last = entry;
    sweep(at);
    return entry;
  }

  function begin(scope: string, at: number): Entry {
    const data = createSessionData(at);
    return { scope, data, record: createRecord(scope, data, options, null), usedAt: at };
  }

  return {
    get size() {
      sweep(now());
      return sessions.size;
    },
    load: (scope) => use(scope, now()).record,
    count(scope, kind, method, tookMs, tool) {
      const at = now();
      const { data } = use(scope, at);
      countMessage(data, kind, method, tookMs, maxNames, at);
      if (tool !== null) countCallIn(data, tool, maxNames);
    },
    all() {
      sweep(now());
      return Array.from(sessions.values(), ({ record }) => record);
    },
  };
}

/** The limits and the clock of a session record. */
export interface RecordOptions extends SessionBounds {
  readonly now: () => number;
}

/** Collects the changes of a session that a remote store keeps. */
export interface ChangeLog {
  add(change: SessionChange): void;
  save(): Maybe<void>;
}

/** Creates a session record. `log` is null if the store itself keeps `data`, so that nothing has to be written. */
export function createRecord(
  scope: string,
  data: SessionData,
  { maxNames, maxStateCharacters, now }: RecordOptions,
  log: ChangeLog | null,
): SessionRecord {
  return {
    id: scope,
    methods: data.methods,
    state: data.state,
    get messages() {
      return data.messages;
    },
    ageMs: () => now() - data.startedAt,
    calls: (tool) => callsIn(data, tool),
    count(kind, method, tookMs = 0) {
      countMessage(data, kind, method, tookMs, maxNames, now());
      log?.add({ change: "message", kind, method, tookMs });
    },
    countCall(tool) {
      countCallIn(data, tool, maxNames);
      log?.add({ change: "call", tool });
    },
    note(key, value) {
      if (!noteIn(data, key, value, maxStateCharacters)) return false;
      log?.add({ change: "note", key, value });
      return true;
    },
    save: () => log?.save(),
  };
}

/** A record for a session that could not be loaded. It is empty, and changes to it are not written. */
export function createUnknownRecord(scope: string, now: () => number): SessionRecord {
  return createRecord(scope, createSessionData(now()), { maxNames: 1, maxStateCharacters: 65_536, now }, null);
}

/** The counters by method as plain objects, for output as JSON. */
export function countsOf(methods: SessionFacts["methods"]): Record<string, Omit<MethodStatistics, "lastAt">> {
  // Peers choose the names: an ordinary object would inherit members such as `constructor`.
  const counts = Object.create(null) as Record<string, Omit<MethodStatistics, "lastAt">>;
  for (const [method, { requests, results, errors, notifications, answeredInMs }] of methods)
    counts[method] = { requests, results, errors, notifications, answeredInMs };
  return counts;
}
