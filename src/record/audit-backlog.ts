import type { Entry, Gap } from "./audit-line.ts";
import type { AuditEvent } from "./event.ts";

/** What may wait at most. What comes beyond that is written at once, or, where it cannot be, lost and counted. */
export interface AuditLimits {
  readonly maxBacklogEvents: number;
  readonly maxBacklogBytes: number;
}

/** What waits to be written, in its order; where events were lost stands how many. */
export interface Backlog {
  readonly length: number;
  /** Events that are in it or were lost in it. */
  readonly unwritten: number;
  /** What has been written so far. */
  readonly written: { readonly events: number; readonly lost: number };
  hasRoom(event: AuditEvent): boolean;
  /** Adds an event. Where there is no room it is lost for this reason, or others that matter less are: then the answer is false. */
  add(event: AuditEvent, reason: string): boolean;
  /** The oldest ones. They stay until they are removed. */
  take(count: number): readonly Entry[];
  /** The oldest ones are written. */
  remove(count: number): void;
}

/** Makes a backlog. */
export function createBacklog({ maxBacklogEvents, maxBacklogBytes }: AuditLimits): Backlog {
  let waiting: Entry[] = [];
  const written = { events: 0, lost: 0 };
  let events = 0; // those of them that are no gaps
  let bytes = 0;
  let taken = 0; // what has been taken may be in a file by now, and cannot change any more
  let leastRank = 0; // none of those that may still be lost ranks below this

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

  /** Loses events that rank below this, the latest ones first. Some at a time, because it looks at all that wait. */
  function makeRoom(rank: number, reason: string): void {
    if (rank <= leastRank) return;
    const most = Math.ceil(events / SHARE_LOST_AT_ONCE);
    let left = most;
    const kept: Entry[] = []; // from the last to the first
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

/** One in so many: few enough, and then the next ones find room without a look at all. */
const SHARE_LOST_AT_ONCE = 64;

/** How much it would matter if an event were not in the log. */
function rankOf({ class: level, verdict, rule, note }: AuditEvent): number {
  if (level === "review" || verdict === "deny" || verdict === "drop") return 2;
  return level === "log" || rule !== null || note !== null ? 1 : 0;
}

function merge(first: Gap, second: Gap): Gap {
  return { lost: first.lost + second.lost, from: first.from, to: second.to, reason: second.reason };
}

/** Whether an entry stands for events that were lost. */
export function isGap(entry: Entry): entry is Gap {
  return "lost" in entry;
}

/** About what an event takes in memory. */
function sizeOf({ method, tool, id, reason, identity, client }: AuditEvent): number {
  const ofMessage = (method?.length ?? 0) + (tool?.length ?? 0) + (id?.length ?? 0) + (reason?.length ?? 0);
  const ofClient = (identity?.length ?? 0) + (client?.name.length ?? 0) + (client?.version?.length ?? 0);
  return OWN_BYTES + 2 * (ofMessage + ofClient);
}

/** Of an event without its texts. Server, policy and metadata are shared by many. */
const OWN_BYTES = 384;
