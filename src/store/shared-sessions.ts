import { applyChange, createSessionData, replaceData, type SessionChange, type SessionData } from "./session-data.ts";
import { createRecord, type RecordOptions, type SessionRecord, type Sessions } from "./sessions.ts";

/** Where sessions are kept that several processes share. */
export interface SessionShelf {
  /** What is kept of a session now; one in which nothing has happened where there is none. To fetch it keeps it. */
  fetch(scope: string): Promise<SessionData>;
  /** Adds changes to a session, all or none of them. What two processes add at the same time adds up. */
  add(scope: string, changes: readonly SessionChange[]): Promise<void>;
}

/** A session that some message of this process is judged by right now. */
interface Entry {
  readonly data: SessionData;
  readonly record: SessionRecord;
  /** What messages of this process have changed, and was not sent yet. */
  unsent: SessionChange[];
  /** How many messages have loaded it and not saved it yet. */
  users: number;
  /** A fetch that has not been answered yet: whoever comes meanwhile waits for the same one. */
  fetching: Promise<SessionRecord> | null;
  /** What was asked last. One question at a time: whether a fetch has a change in it is then certain. */
  last: Promise<unknown>;
}

/**
 * Sessions that are kept elsewhere. Messages of this process that are judged at the same time share one record, so that
 * each sees what those before it have changed, saved or not: otherwise a client could send several messages at once, and
 * have all of them judged as if they were the first.
 */
export function createSharedSessions({ fetch, add }: SessionShelf, options: RecordOptions): Sessions {
  const entries = new Map<string, Entry>(); // only while they are used

  function open(scope: string): Entry {
    const known = entries.get(scope);
    if (known !== undefined) return known;
    const data = createSessionData(options.now());
    const entry: Entry = {
      data,
      record: createRecord(scope, data, options, { add: (change) => void entry.unsent.push(change), save }),
      unsent: [],
      users: 0,
      fetching: null,
      last: Promise.resolve(),
    };
    entries.set(scope, entry);
    return entry;

    function save(): Promise<void> | void {
      entry.users--;
      if (entry.unsent.length > 0) return send(scope, entry);
      leave(scope, entry);
    }
  }

  function leave(scope: string, entry: Entry): void {
    if (entry.users === 0 && entry.unsent.length === 0 && entry.fetching === null) entries.delete(scope);
  }

  /** Asks, after what was asked before has been answered. */
  async function ask<Value>(entry: Entry, question: () => Promise<Value>): Promise<Value> {
    const answer = entry.last.then(question, question);
    entry.last = answer.catch(() => {});
    return answer;
  }

  /** Sends what there is by the time it is sent: what several messages have changed may go together. */
  async function send(scope: string, entry: Entry): Promise<void> {
    try {
      await ask(entry, () => {
        const changes = entry.unsent;
        entry.unsent = [];
        return changes.length === 0 ? Promise.resolve() : add(scope, changes);
      });
    } finally {
      leave(scope, entry);
    }
  }

  async function refresh(scope: string, entry: Entry): Promise<SessionRecord> {
    try {
      const fetched = await ask(entry, () => fetch(scope));
      replaceData(entry.data, fetched);
      for (const change of entry.unsent) applyChange(entry.data, change, options, options.now());
      return entry.record;
    } finally {
      entry.fetching = null;
    }
  }

  return {
    async load(scope) {
      const entry = open(scope);
      entry.users++;
      try {
        return await (entry.fetching ??= refresh(scope, entry));
      } catch (error) {
        entry.users--;
        leave(scope, entry);
        throw error;
      }
    },
    count(scope, kind, method, tookMs, tool) {
      const entry = open(scope);
      entry.record.count(kind, method, tookMs);
      if (tool !== null) entry.record.countCall(tool);
      return send(scope, entry);
    },
  };
}
