import type { Entry, Gap } from "./line.ts";
import type { AuditEvent } from "../event.ts";

/** The limits of the backlog. Events beyond them are written at once or, if that fails, lost and counted. */
export interface AuditLimits {
  readonly maxBacklogEvents: number;
  readonly maxBacklogBytes: number;
}

/** Events that wait to be written, in order. Lost events are replaced by a gap with their number. */
export interface Backlog {
  readonly length: number;
  /** Events that wait or were lost while waiting. */
  readonly unwritten: number;
  /** The events and losses written so far. */
  readonly written: { readonly events: number; readonly lost: number };
  hasRoom(event: AuditEvent): boolean;
  /**
   * Adds an event. Without room, this event is lost for the given reason, or less important ones are. False if any
   * event was lost.
   */
  add(event: AuditEvent, reason: string): boolean;
  /** Returns the oldest entries. They stay in the backlog until they are removed. */
  take(count: number): readonly Entry[];
  /** Removes the oldest entries after they were written. */
  remove(count: number): void;
}

/** Makes an empty backlog. */
export function createBacklog({ maxBacklogEvents, maxBacklogBytes }: AuditLimits): Backlog {
  let waiting: Entry[] = [];
  const written = { events: 0, lost: 0 };
  let events = 0; // entries that are not gaps
  let bytes = 0;
  let taken = 0; // entries that were taken may be in the file already and must not change any more
  let leastRank = 0; // no entry that may still be lost has a lower rank

  function hasRoom(event: AuditEvent): boolean {
    return events < maxBacklogEvents && bytes + sizeOf(event) <= maxBacklogBytes;
  }

  function lose(time: number, reason: string): void {
    waiting.push({ lost: 1, from: time, to: time, reason });
    mergeLast();
  }

  function mergeLast(): void {
    const [before, last] = waiting.slice(-2);
    if (last === undefined || !isGap(before) || !isGap(last) || waiting.length - 2 < taken) return;
    waiting.splice(-2, 2, merge(before, last));
  }

  /** Drops events below this rank, the latest first. Several at once, because it goes through the whole backlog. */
  function makeRoom(rank: number, reason: string): void {
    if (rank <= leastRank) return;
    const most = Math.ceil(events / SHARE_LOST_AT_ONCE);
    let left = most;
    const kept: Entry[] = []; // from last to first
    for (let at = waiting.length - 1; at >= taken; at--) {
      let entry = waiting[at];
      if (left > 0 && !isGap(entry) && rankOf(entry) < rank) {
        left--;
        events--;
        bytes -= sizeOf(entry);
        entry = { lost: 1, from: entry.time, to: entry.time, reason };
      }
      const after = kept.at(-1);
      if (after !== undefined && isGap(after) && isGap(entry)) kept[kept.length - 1] = merge(entry, after);
      else kept.push(entry);
    }
    if (left === most) leastRank = rank;
    else waiting = [...waiting.slice(0, taken), ...kept.toReversed()];
  }

  return {
    written,
    hasRoom,
    get length() {
      return waiting.length;
    },
    get unwritten() {
      return waiting.reduce((count, entry) => count + (isGap(entry) ? entry.lost : 1), 0);
    },
    add(event, reason) {
      const isFull = !hasRoom(event);
      const rank = rankOf(event);
      if (isFull) makeRoom(rank, reason);
      if (!hasRoom(event)) {
        lose(event.time, reason);
        return false;
      }
      waiting.push(event);
      events++;
      bytes += sizeOf(event);
      leastRank = Math.min(leastRank, rank);
      return !isFull;
    },
    take(count) {
      const entries = waiting.slice(0, count);
      taken = entries.length;
      return entries;
    },
    remove(count) {
      for (const entry of waiting.splice(0, count)) {
        if (isGap(entry)) written.lost += entry.lost;
        else {
          written.events++;
          events--;
          bytes -= sizeOf(entry);
        }
      }
      taken = 0;
      leastRank = 0;
      mergeLast();
    },
  };
}

/** The share of events that is dropped at once: few, but enough that the next events find room without another pass. */
const SHARE_LOST_AT_ONCE = 64;

/** How important an event is for the log. */
function rankOf({ class: level, verdict, rule, note }: AuditEvent): number {
  if (level === "review" || verdict === "deny" || verdict === "drop") return 2;
  return level === "log" || rule !== null || note !== null ? 1 : 0;
}

function merge(first: Gap, second: Gap): Gap {
  return { lost: first.lost + second.lost, from: first.from, to: second.to, reason: second.reason };
}

/** Whether an entry stands for lost events. */
export function isGap(entry: Entry): entry is Gap {
  return "lost" in entry;
}

/** The approximate memory of an event. */
function sizeOf({ method, tool, id, reason, identity, client }: AuditEvent): number {
  const ofMessage = (method?.length ?? 0) + (tool?.length ?? 0) + (id?.length ?? 0) + (reason?.length ?? 0);
  const ofClient = (identity?.length ?? 0) + (client?.name.length ?? 0) + (client?.version?.length ?? 0);
  return OWN_BYTES + 2 * (ofMessage + ofClient);
}

/** An event without its strings. Server, policy and metadata are shared by many events. */
const OWN_BYTES = 384;
