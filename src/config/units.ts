import { showText } from "../message/text.ts";
import type { Node } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import type { Shape } from "./shape.ts";
import { wrongKind } from "./values.ts";

/** A time such as 300ms, 5s, 10m or 1h, in milliseconds. */
export function duration(): Shape<number> {
  return {
    what: "a duration such as 5s",
    read(node, page) {
      const text = readWord(node, page, "a duration such as 5s", "Add a unit: ", ["s", "ms"]);
      if (text === WRONG) return WRONG;
      const match = DURATION.exec(text);
      const milliseconds = match === null ? NaN : wholeMilliseconds(Number(match[1]) * TIMES[match[2] as Unit]);
      if (Number.isInteger(milliseconds) && milliseconds > 0 && milliseconds <= MAX_TIMER_MS) return milliseconds;
      const what = match === null ? "is not a duration" : describeDuration(milliseconds);
      return page.wrong(node, "bad-duration", `${page.name()}: "${showText(text, 40)}" ${what}`, suggestDuration(text));
    },
    schema: () => ({ type: "string", pattern: DURATION.source, examples: ["5s", "300ms", "10m", "1h"] }),
  };
}

/** Removes rounding errors: 1.1s is a whole number of milliseconds. */
function wholeMilliseconds(milliseconds: number): number {
  const rounded = Math.round(milliseconds);
  return Math.abs(milliseconds - rounded) < 1e-6 * Math.max(1, rounded) && milliseconds >= 1e-3
    ? rounded
    : milliseconds;
}

function describeDuration(milliseconds: number): string {
  if (!(milliseconds > 0)) return "is not a positive duration";
  return milliseconds > MAX_TIMER_MS ? "is longer than 24 days" : "is not a whole number of milliseconds";
}

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;
const TIMES = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
type Unit = keyof typeof TIMES;

/** The longest delay of a timer: almost 25 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A suggestion of what was probably meant. */
function suggestDuration(text: string): string {
  const pieces = [...text.toLowerCase().matchAll(/(\d+(?:\.\d+)?)\s*([a-zµ]+)/g)];
  let total = 0;
  for (const [, count, word] of pieces) {
    const unit = UNITS.find(({ words }) => words.test(word));
    if (unit === undefined) return HOW_LONG;
    total += Number(count) * unit.ms;
  }
  if (!(total > 0 && total <= MAX_TIMER_MS)) return HOW_LONG;
  // Rounded up, because a timeout of 0 is not valid.
  total = Math.ceil(total - 1e-6);
  const [unit, ms] = Object.entries(TIMES).findLast(([, each]) => total % each === 0) ?? ["ms", 1];
  return `Write ${Number((total / ms).toFixed(3))}${unit}`;
}

const HOW_LONG = "Write a number and a unit (ms, s, m or h), such as 5s";

const UNITS = [
  { words: /^(?:ms|msecs?|millis|milliseconds?)$/, ms: 1 },
  { words: /^(?:s|secs?|seconds?)$/, ms: 1000 },
  { words: /^(?:m|mins?|minutes?)$/, ms: 60_000 },
  { words: /^(?:h|hrs?|hours?)$/, ms: 3_600_000 },
  { words: /^(?:d|days?)$/, ms: 86_400_000 },
];

/** A number of bytes: 10MB, 512KB, or a plain number. A kilobyte has 1,024 bytes. */
export function size(): Shape<number> {
  return {
    what: "a size such as 10MB",
    read(node, page) {
      const text =
        node.kind === "scalar" && typeof node.value === "number"
          ? String(node.value)
          : readWord(node, page, "a size such as 10MB", "", []);
      if (text === WRONG) return WRONG;
      const match = SIZE.exec(text);
      const bytes =
        match === null ? NaN : Number(match[1]) * 1024 ** ["B", "K", "M", "G"].indexOf((match[2] || "B")[0]);
      if (Number.isSafeInteger(bytes) && bytes > 0 && bytes <= MAX_BYTES) return bytes;
      const message = `${page.name()}: "${showText(text, 40)}" is not a size${bytes > MAX_BYTES ? " that fits into memory" : ""}`;
      return page.wrong(node, "bad-size", message, "Write a number and a unit (B, KB, MB or GB), such as 10MB");
    },
    schema: () => ({
      anyOf: [
        { type: "integer", minimum: 1, maximum: MAX_BYTES },
        { type: "string", pattern: SIZE.source, examples: ["10MB", "512KB"] },
      ],
    }),
  };
}

const SIZE = /^(\d+(?:\.\d+)?) ?(B|KB|KiB|MB|MiB|GB|GiB)?$/;
const MAX_BYTES = 2 ** 31 - 1;

/** Reads a scalar with a unit. For a number without a unit, the suggestion names the units. */
function readWord(node: Node, page: Page, what: string, hint: string, units: readonly string[]): string | Wrong {
  if (node.kind === "scalar" && typeof node.value === "string") return node.value;
  if (node.kind !== "scalar" || typeof node.value !== "number") return wrongKind(node, page, what);
  const written = page.source.quote(node);
  return page.wrong(
    node,
    "bad-duration",
    `${page.name()}: ${written} has no unit`,
    `${hint}${units.map((unit) => written + unit).join(" or ")}`,
  );
}
