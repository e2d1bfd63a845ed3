import type { Random } from "./random.ts";

// JSON as text, with all that a value does not show: space, escapes, repeated keys, odd numbers.

/** Any JSON text that a grammar would take; what else is wrong with it is left to chance. */
export function jsonText(random: Random): string {
  return space(random) + value(random, 5) + space(random);
}

/** A text that looks like a message. */
export function messageText(random: Random): string {
  const members: Member[] = MESSAGE_KEYS.filter(() => random.chance(0.5)).map((name) => [
    name,
    random.chance(0.5) ? random.pick(MESSAGE_VALUES) : value(random, 3),
  ]);
  while (random.chance(0.3)) members.splice(random.below(members.length + 1), 0, [key(random), value(random, 2)]);
  return object(random, members);
}

type Member = readonly [key: string, value: string];

const MESSAGE_KEYS = ["jsonrpc", "id", "method", "params", "result", "error", "extra"];
const MESSAGE_VALUES = ['"2.0"', "7", '"ping"', '{"name":"x","uri":"y","taskId":3}', '"\\u0032.0"', "null"];
const SPACES = ["", "", "", "", "", "", " ", "\t", "  ", "\r", "\n", " \t "];
const SCALARS = [
  "0",
  "-0",
  "1",
  "-1",
  "10",
  "1.5",
  "1e5",
  "1E-5",
  "0.0e+1",
  "9007199254740993",
  "1e400",
  "true",
  "false",
  "null",
];
const KEYS = [
  ["a", "b", "c", "d", "aa", "ab", "\\u0061", "a\\u0061", "", "é", "\\u00e9", "a", "b", "c", "d", "e", "f", "g", "h"],
  ["id", "jsonrpc", "method", "params", "result", "error", "name", "arguments", "uri"],
  ["ID", "Name", "n\\u0061me", "paramſ", "__proto__", "\\ud800", "id\\u0000"],
].flat();
const PIECES = [
  "é",
  "€",
  "😀",
  "\u2028",
  "\u007f",
  '\\"',
  "\\\\",
  "\\/",
  "\\n",
  "\\r",
  "\\u0041",
  "\\ud83d\\ude00",
  "\\ud800",
];
const COLUMNS = ["a", "b", "c", "aa", "ab", "é", "x y", "id", "name"];

function space(random: Random): string {
  return random.pick(SPACES);
}

/** Strings of every length around the sizes the scanner works in. */
function string(random: Random): string {
  let text = "x".repeat(random.pick([0, 1, 3, 22, 23, 24, 25, 26, 27, 28, 47, 60]));
  while (random.chance(0.5)) text += random.pick(PIECES) + "[{:,".slice(random.below(5)) + "y".repeat(random.below(30));
  return `"${text}"`;
}

function key(random: Random): string {
  return random.chance(0.1) ? string(random).slice(1, -1) : random.pick(KEYS);
}

function value(random: Random, depth: number): string {
  const kind = depth === 0 ? 0 : random.below(8);
  if (kind <= 2) return random.chance(0.5) ? string(random) : random.pick(SCALARS);
  if (kind <= 4)
    return object(
      random,
      Array.from({ length: random.below(6) }, () => [key(random), value(random, depth - 1)]),
    );
  if (kind === 5)
    return array(
      random,
      Array.from({ length: random.below(5) }, () => value(random, depth - 1)),
    );
  return kind === 6 ? wide(random) : table(random, depth - 1);
}

/** More keys than are compared one by one; sometimes one of them again, or one with an escape. */
function wide(random: Random): string {
  const names = Array.from({ length: 14 + random.below(26) }, (_, index) => `k${index}`);
  const somewhere = (): number => random.below(names.length + 1);
  if (random.chance(0.4)) names.splice(somewhere(), 0, `${random.pick(["k", "\\u006b"])}${random.below(40)}`);
  if (random.chance(0.3)) names.splice(somewhere(), 0, "\\u006bx");
  return object(
    random,
    names.map((name) => [name, "1"]),
  );
}

/** Rows that are alike, or with a key changed, repeated, missing, moved or escaped. */
function table(random: Random, depth: number): string {
  const names = COLUMNS.filter(() => random.chance(0.5));
  const rows = Array.from({ length: 1 + random.below(8) }, () => {
    const own = [...names];
    const at = random.below(own.length + 1);
    const twin = own[random.below(own.length)] ?? "a";
    const what = random.below(12);
    if (what === 1) own.splice(at, 1);
    else if (what === 2) own.push(twin);
    else if (what === 3) own[at] = twin;
    else if (what === 4) own.reverse();
    else if (what === 5) own[at] = `\\u00${twin.charCodeAt(0).toString(16).padStart(2, "0")}${twin.slice(1)}`;
    else if (what === 6) own.splice(at, 0, "new");
    return object(
      random,
      own.map((name) => [name, random.chance(0.1) ? value(random, depth) : "1"]),
    );
  });
  return array(random, rows);
}

function object(random: Random, members: readonly Member[]): string {
  const gap = random.chance(0.8) ? (): string => "" : (): string => space(random);
  return `{${gap()}${members.map(([name, text]) => `"${name}"${gap()}:${gap()}${text}${gap()}`).join(`,${gap()}`)}}`;
}

function array(random: Random, elements: readonly string[]): string {
  return `[${space(random)}${elements.join(`${space(random)},`)}${space(random)}]`;
}
