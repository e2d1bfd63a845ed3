/** A JSON value and its place in the bytes it was read from. */
export interface Tree {
  readonly kind: "object" | "array" | "string" | "number" | "literal";
  readonly start: number;
  readonly end: number;
  /** Of an object, in order, with repeated keys repeated. */
  readonly members: readonly Member[];
  /** Of an array. */
  readonly elements: readonly Tree[];
}

/** One member of an object; the key is decoded. */
interface Member {
  readonly key: string;
  readonly start: number;
  readonly value: Tree;
}

/** What is wrong with a text as JSON that everyone reads alike. */
export type JsonFault = "not-utf8" | "not-json" | "too-deep" | "duplicate-key" | "lone-surrogate";

/** What was read: the value and its tree, or why not. */
export type JsonReading =
  | { readonly fault: JsonFault; readonly tree: null }
  | { readonly fault: null; readonly tree: Tree; readonly value: unknown };

const MAX_DEPTH = 128;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads JSON the plain way: JSON.parse says whether it is JSON at all, and a recursive walk finds
 * what JSON.parse keeps quiet about. It shares nothing with the scanner it is held against.
 */
export function readJson(bytes: Buffer): JsonReading {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { fault: "not-utf8", tree: null };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: "not-json", tree: null };
  }
  const walker: Walker = { text: bytes.toString("latin1"), at: 0, faults: new Set() };
  try {
    const tree = readTree(walker, 1);
    const [fault] = walker.faults;
    return fault === undefined ? { fault: null, tree, value } : { fault, tree: null };
  } catch (error) {
    if (error === TOO_DEEP) return { fault: "too-deep", tree: null };
    throw error;
  }
}

/** Everything that is wrong with a text, and not only what is found first. Empty where nothing is. */
export function allFaults(bytes: Buffer): Set<JsonFault> {
  const { fault } = readJson(bytes);
  if (fault === null || fault === "not-utf8" || fault === "not-json") return new Set(fault === null ? [] : [fault]);
  const faults = new Set<JsonFault>();
  const walker = { text: bytes.toString("latin1"), at: 0, faults };
  try {
    readTree(walker, 1);
  } catch {
    faults.add("too-deep");
  }
  return faults;
}

/** The tree of a text that JSON.parse takes, whatever else is wrong with it. Null where it does not, or is too deep. */
export function readLeniently(bytes: Buffer): Tree | null {
  try {
    JSON.parse(bytes.toString("utf8"));
    return readTree({ text: bytes.toString("latin1"), at: 0, faults: new Set() }, 1);
  } catch {
    return null;
  }
}

/** The text of a string that is given in its quotes, as latin1. */
export function decodeString(quoted: string): string {
  return JSON.parse(Buffer.from(quoted, "latin1").toString("utf8")) as string;
}

interface Walker {
  readonly text: string;
  at: number;
  readonly faults: Set<JsonFault>;
}

const TOO_DEEP = new Error("too deep");
const SCALAR = /[^\s,\]}]+/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const SPACE = /[ \t\r\n]*/y;

// The text is known to be JSON, so this only finds where things begin and end.
function readTree(walker: Walker, depth: number): Tree {
  take(walker, SPACE);
  const start = walker.at;
  const first = walker.text[start];
  const members: Member[] = [];
  const elements: Tree[] = [];
  let kind: Tree["kind"] = "literal";
  if (first === '"') {
    kind = "string";
    take(walker, STRING);
  } else if (first === "{" || first === "[") {
    if (depth > MAX_DEPTH) throw TOO_DEEP;
    kind = first === "{" ? "object" : "array";
    walker.at++;
    take(walker, SPACE);
    while (!"}]".includes(walker.text[walker.at])) {
      if (kind === "object") members.push(readMember(walker, depth));
      else elements.push(readTree(walker, depth + 1));
      take(walker, SPACE);
      if (walker.text[walker.at] === ",") walker.at++;
      take(walker, SPACE);
    }
    walker.at++;
    if (members.length > 1 && new Set(members.map(({ key }) => key)).size < members.length)
      walker.faults.add("duplicate-key");
  } else {
    if (first === "-" || (first >= "0" && first <= "9")) kind = "number";
    take(walker, SCALAR);
  }
  return { kind, start, end: walker.at, members, elements };
}

function readMember(walker: Walker, depth: number): Member {
  const start = walker.at;
  const quoted = take(walker, STRING);
  const key = quoted.includes("\\") || !/^[ -~]*$/.test(quoted) ? decodeString(quoted) : quoted.slice(1, -1);
  if (!key.isWellFormed()) walker.faults.add("lone-surrogate");
  take(walker, SPACE);
  walker.at++;
  return { key, start, value: readTree(walker, depth + 1) };
}

function take(walker: Walker, what: RegExp): string {
  what.lastIndex = walker.at;
  const found = what.exec(walker.text)?.[0] ?? "";
  walker.at += found.length;
  return found;
}
