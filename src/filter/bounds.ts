import type { Amount, AmountRange } from "./filter.ts";

/** The numbers a range stands for: from `low` to `high`, which belongs to it where `closed` says so. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly closed: boolean;
}

/**
 * What a range stands for at this moment. One amount stands for all that round to it as precisely as it
 * is written: 2.1ms is what is shown as 2.1 ms, and 12:04 is that minute.
 */
export function boundsOf({ from, to }: AmountRange, now: number): Bounds {
  if (to === null) {
    const low = from.kind === "number" ? from.value - from.step / 2 : momentOf(from, now);
    return { low, high: from.kind === "number" ? from.value + from.step / 2 : endOf(from, low), closed: false };
  }
  const low = momentOf(from, now);
  if (to.kind === "number" || to.kind === "ago") return { low, high: momentOf(to, now), closed: true };
  // After a range's beginning, a time of day is the next one: 23:50..00:10 goes over midnight.
  const last = to.kind === "clock" ? nextClock(to.parts, low) : momentOf(to, now);
  return { low, high: endOf(to, last), closed: false };
}

/** The number that an amount is compared as: of a time its beginning, in milliseconds since 1970. */
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

/** Where an amount ends that begins here. */
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

/** The last time that clocks here showed this. */
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
