import { AGES, type FieldDefinition, findAlso, type Unit } from "./fields.ts";
import type { Amount } from "./filter.ts";
import { show } from "./mistake.ts";

/** Why a text is not an amount, and what was probably meant. */
export interface AmountProblem {
  readonly problem: string;
  readonly meant: string | null;
}

/** Parses an amount of this field. */
export function parseAmount(field: FieldDefinition, text: string): Amount | AmountProblem {
  return field.name === "time" ? parseTime(text) : parseNumber(field, text);
}

/** Whether an amount was parsed. */
export function isAmount(read: Amount | AmountProblem): read is Amount {
  return "kind" in read;
}

const NUMBER = /^(-?)(\d+)(\.\d+)?([a-z]*)$/i;

function parseNumber(field: FieldDefinition, text: string): Amount | AmountProblem {
  const { units } = field;
  const example = units.length === 0 ? "-32603" : `50${units[0].name}`;
  const match = NUMBER.exec(text);
  if (match === null) return { problem: `${show(text)} is not a number such as ${example}`, meant: null };
  const [, minus, whole, fraction = "", written] = match;
  const digits = `${whole.replace(/^0+(?=\d)/, "")}${fraction}`;
  const isZero = !/[1-9]/.test(digits);
  const sign = isZero ? "" : minus;
  const unit = findUnit(units, written);
  if (unit === undefined) {
    if (units.length === 0)
      return { problem: `${show(written)} cannot follow a plain number`, meant: `${sign}${digits}` };
    const meant = `${digits}${(findAlso(units, written) ?? units[0]).name}`;
    if (written === "") return { problem: `${show(text)} has no unit`, meant };
    return { problem: `${show(written)} is not a unit`, meant: findAlso(units, written) === undefined ? null : meant };
  }
  if (sign !== "" && units.length > 0)
    return { problem: `${show(text)} is less than nothing`, meant: `${digits}${unit.name}` };
  const value = Number(`${sign}${digits}`) * unit.factor;
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return { problem: `${show(text)} is too large`, meant: null };
  const step = unit.factor / 10 ** Math.max(0, fraction.length - 1);
  return { kind: "number", text: `${sign}${digits}${unit.name}`, value, step };
}

const PLAIN: Unit = { name: "", factor: 1, also: [] };

function findUnit(units: readonly Unit[], written: string): Unit | undefined {
  if (units.length === 0) return written === "" ? PLAIN : undefined;
  const small = written.toLowerCase();
  return units.find(({ name }) => name.toLowerCase() === small);
}

const AGO = /^(-?)(\d+)(\.\d+)?([a-z]+)$/i;
const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(Z|([+-])(\d\d):(\d\d))?)?$/i;

function parseTime(text: string): Amount | AmountProblem {
  const ago = AGO.exec(text);
  if (ago !== null) return readAgo(text, ago);
  if (/^-\d+$/.test(text)) return { problem: `${show(text)} has no unit`, meant: `${text}m` };
  const clock = CLOCK.exec(text);
  const date = clock === null ? DATE.exec(text) : null;
  const read = clock === null ? date && readDate(date) : readClock(clock);
  return read ?? { problem: `${show(text)} is not a time such as 12:04, -10m or 2026-11-16T12:00Z`, meant: null };
}

function readAgo(text: string, [, minus, whole, fraction = "", written]: string[]): Amount | AmountProblem {
  const unit = findUnit(AGES, written);
  const meant = (unit ?? findAlso(AGES, written))?.name;
  const canonical = `-${whole.replace(/^0+(?=\d)/, "")}${fraction}${meant ?? ""}`;
  if (unit === undefined)
    return { problem: `${show(written)} is not a unit`, meant: meant === undefined ? null : canonical };
  if (minus === "") return { problem: `${show(text)} is not a time`, meant: canonical };
  const milliseconds = Number(`${whole}${fraction}`) * unit.factor;
  if (milliseconds > Number.MAX_SAFE_INTEGER) return { problem: `${show(text)} is too large`, meant: null };
  return { kind: "ago", text: canonical, milliseconds };
}

function readClock([, hour, minute, second, fraction]: (string | undefined)[]): Amount | null {
  const parts = timeParts(hour, minute, second, fraction);
  if (parts === null) return null;
  return { kind: "clock", text: timeText(parts, second, fraction), parts, lasts: lastsOf(second, fraction) };
}

function readDate(match: (string | undefined)[]): Amount | null {
  const [, year = "", month = "", day = "", hour, minute, second, fraction, zone, sign, hours, minutes] = match;
  const date = [Number(year), Number(month), Number(day)];
  const real = new Date(Date.UTC(date[0], date[1] - 1, date[2]));
  // `Date` would turn the 30th of February into another day.
  if (date[0] < 1970 || real.getUTCMonth() !== date[1] - 1 || real.getUTCDate() !== date[2]) return null;
  const dayText = `${year}-${month}-${day}`;
  const base = { kind: "date", lasts: "day", offsetMinutes: null } as const;
  if (hour === undefined) return { ...base, text: dayText, parts: [...date, 0, 0, 0, 0] };
  const time = timeParts(hour, minute, second, fraction);
  if (time === null || Number(hours ?? 0) > 14 || Number(minutes ?? 0) > 59) return null;
  const offset = (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
  return {
    kind: "date",
    text: `${dayText}T${timeText(time, second, fraction)}${zone?.toUpperCase() ?? ""}`,
    parts: [...date, ...time],
    lasts: lastsOf(second, fraction),
    offsetMinutes: zone === undefined ? null : offset === 0 ? 0 : offset,
  };
}

type Part = string | undefined;

function timeParts(hour: Part, minute: Part, second: Part, fraction: Part): readonly number[] | null {
  const parts = [Number(hour), Number(minute), Number(second ?? 0), Number((fraction ?? "").padEnd(3, "0"))];
  return parts[0] < 24 && parts[1] < 60 && parts[2] < 60 ? parts : null;
}

function timeText([hour, minute, seconds]: readonly number[], second: Part, fraction: Part): string {
  const rest = second === undefined ? "" : `:${two(seconds)}${fraction === undefined ? "" : `.${fraction}`}`;
  return `${two(hour)}:${two(minute)}${rest}`;
}

function two(part: number): string {
  return String(part).padStart(2, "0");
}

/** How many milliseconds a time stands for, by its precision: 12:04 is a minute long, 12:04:25 a second. */
function lastsOf(second: Part, fraction: Part): number {
  return second === undefined ? 60_000 : 1000 / 10 ** (fraction?.length ?? 0);
}
