import type { Entry, Gap } from "./audit-line.ts";
import type { AuditEvent } from "./event.ts";

/** What may wait at most. What comes beyond that is lost, and counted. */
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
  /** Adds an event. Where there is no room it is lost for this reason, and the answer is false. */
  add(event: AuditEvent, reason: string): boolean;
  /** The oldest ones. They stay until they are removed. */
  take(count: number): readonly Entry[];
  /** The oldest ones are written. */
  remove(count: number): void;
}

/** Makes a backlog. */
export function createBacklog({ maxBacklogEvents, maxBacklogBytes }: AuditLimits): Backlog {
  const waiting: Entry[] = [];
  const written = { events: 0, lost: 0 };
  let bytes = 0;
  let taken = 0;

  function lose(time: number, reason: string): void {
    const last = waiting.at(-1);
    // What has been taken may be in a file by now, and cannot grow any more.
    if (last !== undefined && isGap(last) && waiting.length > taken) {
      last.lost++;
      last.to = time;
    } else waiting.push({ lost: 1, from: time, to: time, reason });
  }

  return {
    written,
    get length() {
      return waiting.length;
    },
    get unwritten() {
      return waiting.reduce((count, entry) => count + (isGap(entry) ? entry.lost : 1), 0);
    },
    add(event, reason) {
      const size = sizeOf(event);
      if (waiting.length >= maxBacklogEvents || bytes + size > maxBacklogBytes) {
        lose(event.time, reason);
        return false;
      }
      waiting.push(event);
      bytes += size;
      return true;
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
          bytes -= sizeOf(entry);
        }
      }
      taken = 0;
    },
  };
}

/** Whether an entry stands for events that were lost. */
export function isGap(entry: Entry): entry is Gap {
  return "lost" in entry;
}

/** About what an event takes in memory. */
function sizeOf({ method, tool, id }: AuditEvent): number {
  return 256 + 2 * ((method?.length ?? 0) + (tool?.length ?? 0) + (id?.length ?? 0));
}
