import type { Amount, AmountRange } from "./filter.ts";

/** The numbers that a range stands for: from `low` to `high`, which is included if `closed` is true. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly closed: boolean;
}

/**
 * The bounds of a range at a given time. A single amount stands for everything that rounds to it at the precision in
 * which it is written: 2.1ms is what is shown as 2.1 ms, and 12:04 is that minute.
 */
export function boundsOf({ from, to }: AmountRange, now: number): Bounds {
  if (to === null) {
    const low = from.kind === "number" ? from.value - from.step / 2 : momentOf(from, now);
    return { low, high: from.kind === "number" ? from.value + from.step / 2 : endOf(from, low), closed: false };
  }
  const low = momentOf(from, now);
  if (to.kind === "number" || to.kind === "ago") return { low, high: momentOf(to, now), closed: true };
  // A time of day at the end of a range is the next one after its beginning: 23:50..00:10 spans midnight.
  const last = to.kind === "clock" ? nextClock(to.parts, low) : momentOf(to, now);
  return { low, high: endOf(to, last), closed: false };
}

/** The number as which an amount is compared. For a time it is its beginning, in milliseconds since 1970. */
export function momentOf(amount: Amount, now: number): number {
  switch (amount.kind) {
    case "number":
      return amount.value;
    case "ago":
      return now - amount.milliseconds;
    case "clock":
      return lastClock(amount.parts, now);
    case "date":
      return dateAt(amount.parts, amount.offsetMinutes);
  }
}

/** The end of an amount that begins at `start`. */
function endOf(amount: Amount, start: number): number {
  switch (amount.kind) {
    case "number":
    case "ago":
      return start;
    case "clock":
      return start + amount.lasts;
    case "date": {
      const [year, month, day] = amount.parts;
      return amount.lasts === "day" ? new Date(year, month - 1, day + 1).getTime() : start + amount.lasts;
    }
  }
}

/** The last time that the local clock showed this time of day. */
function lastClock(parts: readonly number[], now: number): number {
  const today = clockOn(parts, now, 0);
  return today <= now ? today : clockOn(parts, now, -1);
}

function nextClock(parts: readonly number[], from: number): number {
  const sameDay = clockOn(parts, from, 0);
  return sameDay >= from ? sameDay : clockOn(parts, from, 1);
}

function clockOn([hour, minute, second, millisecond]: readonly number[], day: number, later: number): number {
  const date = new Date(day);
  const then = new Date(date.getFullYear(), date.getMonth(), date.getDate() + later, hour, minute, second, millisecond);
  return then.getTime();
}

function dateAt(parts: readonly number[], offsetMinutes: number | null): number {
  const [year, month, day, hour, minute, second, millisecond] = parts;
  if (offsetMinutes === null) return new Date(year, month - 1, day, hour, minute, second, millisecond).getTime();
  return Date.UTC(year, month - 1, day, hour, minute, second, millisecond) - offsetMinutes * 60_000;
}
