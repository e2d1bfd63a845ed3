import { applyChange, createSessionData, replaceData, type SessionChange, type SessionData } from "./session-data.ts";
import { createRecord, type RecordOptions, type SessionRecord, type Sessions } from "./sessions.ts";

/** A remote store for sessions that several processes share. */
export interface SessionShelf {
  /** The stored data of a session, or that of a new session. Fetching restarts its expiry time. */
  fetch(scope: string): Promise<SessionData>;
  /** Applies all of the changes to a session, or none of them. Concurrent changes by several processes must add up. */
  add(scope: string, changes: readonly SessionChange[]): Promise<void>;
}

/** A session that is in use by at least one message of this process. */
interface Entry {
  readonly data: SessionData;
  readonly record: SessionRecord;
  /** Changes by messages of this process that are not sent yet. */
  unsent: SessionChange[];
  /** How many messages have loaded the record and not saved it yet. */
  users: number;
  /** A pending fetch, shared by all messages that load the session meanwhile. */
  fetching: Promise<SessionRecord> | null;
  /** The last request to the store. Requests run one after another, so it is certain which changes a fetch includes. */
  last: Promise<unknown>;
}

/**
 * Sessions in a remote store. Messages that this process judges at the same time share one record, so that each sees
 * the changes of those before it, saved or not. Otherwise a client could send several messages at once and have all of
 * them judged as if each were the first.
 */
export function createSharedSessions({ fetch, add }: SessionShelf, options: RecordOptions): Sessions {
  const entries = new Map<string, Entry>(); // only sessions in use

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

  /** Sends a request to the store after the previous one has completed. */
  async function ask<Value>(entry: Entry, question: () => Promise<Value>): Promise<Value> {
    const answer = entry.last.then(question, question);
    entry.last = answer.catch(() => {});
    return answer;
  }

  /** Sends all changes that exist once it is its turn, so that those of several messages may be sent together. */
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
