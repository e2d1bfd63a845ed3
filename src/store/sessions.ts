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
 * What is kept of one session: loaded once for a message, then read at once. What is counted and noted can be read here at
 * once, too, and is written when the record is saved.
 */
export interface SessionRecord extends SessionFacts {
  /** Counts a message that is judged. `tookMs` is how long an answer was waited for. */
  count(kind: MessageKind, method: string | null, tookMs?: number): void;
  /** Counts a call of a tool. */
  countCall(tool: string): void;
  /** Notes something for rules to read; undefined takes it out. False where there is no room. */
  note(key: string, value: Json | undefined): boolean;
  /**
   * Says that the message is done with it, once for each time that it was loaded, and writes what was changed, in one go.
   * After that, a `load` of the same session must see the changes or fail: rules must not miss what an earlier message did.
   * A store that keeps its commands in order may therefore answer now and write later.
   */
  save(): Maybe<void>;
}

/** The sessions that are remembered. */
export interface Sessions {
  /**
   * The record of a session, begun where there is none. To load a session keeps it. Messages of one process see what the
   * others have changed, saved or not; those of another process what was saved. What must be exact everywhere is a limit.
   */
  load(scope: string): Maybe<SessionRecord>;
  /**
   * Counts a message that no rule looks at, and the call of a tool that it may be: that needs no record. Seen by later
   * loads as `SessionRecord.save` says.
   */
  count(scope: string, kind: MessageKind, method: string | null, tookMs: number, tool: string | null): Maybe<void>;
}

/** Sessions that are remembered in the memory of this process. Their records are alive: all messages share one. */
export interface MemorySessions extends Sessions {
  load(scope: string): SessionRecord;
  count(scope: string, kind: MessageKind, method: string | null, tookMs: number, tool: string | null): void;
  /** All that are remembered, the one used last at the end. */
  all(): SessionRecord[];
  readonly size: number;
}

/** How much is remembered, and how long. */
export interface MemorySessionsOptions extends SessionBounds {
  readonly maxSessions: number;
  /** A session nobody has used for so long is forgotten. */
  readonly ttlMs: number;
  readonly now: () => number;
}

interface Entry {
  readonly scope: string;
  readonly record: SessionRecord;
  usedAt: number;
}

/** Remembers sessions in memory. Where there is no room, the session that was not used for longest goes first. */
export function createMemorySessions(options: MemorySessionsOptions): MemorySessions {
  const { maxSessions, ttlMs, now } = options;
  const sessions = new Map<string, Entry>(); // the one used last is last
  let last: Entry | null = null;

  function sweep(at: number): void {
    for (const [scope, { usedAt }] of sessions) {
      if (usedAt + ttlMs > at && sessions.size <= maxSessions) return;
      sessions.delete(scope);
    }
  }

  function load(scope: string): SessionRecord {
    const at = now();
    // Mostly the session that was used last, which is where it belongs.
    if (last !== null && last.scope === scope && last.usedAt + ttlMs > at) {
      last.usedAt = at;
      return last.record;
    }
    const known = sessions.get(scope);
    const isFresh = known !== undefined && known.usedAt + ttlMs > at;
    const entry = isFresh
      ? known
      : { scope, record: createRecord(scope, createSessionData(at), options, null), usedAt: at };
    entry.usedAt = at;
    sessions.delete(scope);
    sessions.set(scope, entry);
    last = entry;
    sweep(at);
    return entry.record;
  }

  return {
    get size() {
      sweep(now());
      return sessions.size;
    },
    load,
    count(scope, kind, method, tookMs, tool) {
      const record = load(scope);
      record.count(kind, method, tookMs);
      if (tool !== null) record.countCall(tool);
    },
    all() {
      sweep(now());
      return Array.from(sessions.values(), ({ record }) => record);
    },
  };
}

/** How the record of a session is made. */
export interface RecordOptions extends SessionBounds {
  readonly now: () => number;
}

/** Where changes of a session go that is kept elsewhere. */
export interface ChangeLog {
  add(change: SessionChange): void;
  save(): Maybe<void>;
}

/** Makes a record of a session. `log` is null where `data` is what the store itself keeps: nothing is left to write. */
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

/** A record for a session that could not be loaded: nothing is known of it, and nothing is written. */
export function createUnknownRecord(scope: string, now: () => number): SessionRecord {
  return createRecord(scope, createSessionData(now()), { maxNames: 1, maxStateCharacters: 65_536, now }, null);
}

/** What is counted by method, as plain objects for programs. */
export function countsOf(methods: SessionFacts["methods"]): Record<string, Omit<MethodStatistics, "lastAt">> {
  // Names come from peers: an ordinary object would have members of its own.
  const counts = Object.create(null) as Record<string, Omit<MethodStatistics, "lastAt">>;
  for (const [method, { requests, results, errors, notifications, answeredInMs }] of methods)
    counts[method] = { requests, results, errors, notifications, answeredInMs };
  return counts;
}
