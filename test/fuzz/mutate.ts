import { readLeniently, type Tree } from "./naive-json.ts";
import type { Random } from "./random.ts";

/** Changes a message a little, in one of the ways below. */
type Mutation = (random: Random, bytes: Buffer, corpus: readonly Buffer[]) => Buffer;

/** A mutant: a message of the corpus, changed once or a few times, sometimes not at all. */
export function mutate(random: Random, corpus: readonly Buffer[]): Buffer {
  let bytes = random.pick(corpus);
  for (let times = random.pick(TIMES); times > 0; times--) bytes = random.pick(MUTATIONS)(random, bytes, corpus);
  return bytes;
}

/** Cuts bytes into chunks, small and large. */
export function cut(random: Random, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  const size = random.pick([1, 2, 7, 64, 1000]);
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + random.below(size);
    // A copy each: chunks of a stream share no memory.
    chunks.push(Buffer.from(bytes.subarray(at, end)));
    at = end;
  }
  return chunks;
}

const TIMES = [0, 1, 1, 1, 1, 2, 2, 3, 5];

const flipBit: Mutation = (random, bytes) => {
  const changed = Buffer.from(bytes);
  if (changed.length > 0) changed[random.below(changed.length)] ^= 1 << random.below(8);
  return changed;
};

const insertByte: Mutation = (random, bytes) => insert(bytes, random.below(bytes.length + 1), random.pick(ODD_BYTES));

const deleteBytes: Mutation = (random, bytes) => {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(3))]);
};

const truncate: Mutation = (random, bytes) => bytes.subarray(0, random.below(bytes.length + 1));

/** Puts a piece of another message into this one, whole tokens where there are any. */
const spliceTokens: Mutation = (random, bytes, corpus) => {
  const from = tokens(random.pick(corpus));
  const into = tokens(bytes);
  if (from.length === 0 || into.length === 0) return bytes;
  const first = random.below(from.length);
  const piece = from.slice(first, first + 1 + random.below(8)).join("");
  const at = random.below(into.length);
  into.splice(at, random.below(3), piece);
  return Buffer.from(into.join(""), "latin1");
};

/** Says a member twice: as it is, with another value, or with its key in another spelling. */
const repeatMember: Mutation = (random, bytes) => {
  const text = bytes.toString("latin1");
  const members = [...text.matchAll(/"((?:[^"\\]|\\.)*)"\s*:\s*("(?:[^"\\]|\\.)*"|[\d.eE+-]+|true|null)/g)];
  if (members.length === 0) return bytes;
  const { 0: whole, 1: key, 2: value, index } = random.pick(members);
  const again = random.pick([whole, `"${respell(random, key)}":${value}`, `"${key}":"denied_tool"`, `"${key}":7`]);
  const at = random.chance(0.5) ? index : index + whole.length;
  const piece = at === index ? `${again},` : `,${again}`;
  return Buffer.from(text.slice(0, at) + piece + text.slice(at), "latin1");
};

/** Spells a key or a value in another way that some peer takes for the same. */
const respellString: Mutation = (random, bytes) => {
  const text = bytes.toString("latin1");
  const strings = [...text.matchAll(/"((?:[^"\\]|\\.)+)"/g)];
  if (strings.length === 0) return bytes;
  const { 1: word, index } = random.pick(strings);
  const changed = text.slice(0, index + 1) + respell(random, word) + text.slice(index + 1 + word.length);
  return Buffer.from(changed, "latin1");
};

const respellNumber: Mutation = (random, bytes) => {
  const text = bytes.toString("latin1");
  const numbers = [...text.matchAll(/(?<=[:[,])-?\d+(?:\.\d+)?/g)];
  if (numbers.length === 0) return bytes;
  const { 0: number, index } = random.pick(numbers);
  const other = random.pick(NUMBERS).replace("n", number);
  return Buffer.from(text.slice(0, index) + other + text.slice(index + number.length), "latin1");
};

/** Puts a line end of some kind, or space, where there may be space and where there may not. */
const insertBreak: Mutation = (random, bytes) => {
  const places = [...bytes.keys()].filter((at) => '{}[],:"'.includes(String.fromCharCode(bytes[at])));
  const at =
    random.chance(0.8) && places.length > 0 ? random.pick(places) + random.below(2) : random.below(bytes.length + 1);
  return insert(bytes, at, random.pick(BREAKS));
};

/** Hides one message in another, between two carriage returns. */
const smuggle: Mutation = (random, bytes, corpus) => {
  const text = bytes.toString("latin1");
  const at = text.lastIndexOf("}");
  const hidden = random.pick(corpus).toString("latin1");
  const wrapped = random.pick([`,"x":\r${hidden}\r`, `,"x":"\r${hidden}\r"`, `}\r${hidden}`, `\n${hidden}`]);
  return Buffer.from(text.slice(0, Math.max(at, 0)) + wrapped + text.slice(Math.max(at, 0)), "latin1");
};

/** Puts a whole value of another message in the place of a value of this one. */
const swapValue: Mutation = (random, bytes, corpus) => {
  const into = random.pick(valuesIn(bytes));
  const donor = random.pick(corpus);
  const from = random.pick(valuesIn(donor));
  if (into === undefined || from === undefined) return bytes;
  return replace(bytes, into.start, into.end, donor.subarray(from.start, from.end));
};

/** Adds a member of another message to an object of this one, or takes one away. */
const moveMember: Mutation = (random, bytes, corpus) => {
  const object = random.pick(valuesIn(bytes).filter(({ members }) => members.length > 0));
  if (object === undefined) return bytes;
  const at = random.below(object.members.length);
  const { start, value } = object.members[at];
  if (random.chance(0.5)) {
    const end = object.members[at + 1]?.start ?? value.end;
    return replace(bytes, start, end, Buffer.alloc(0));
  }
  const donor = random.pick(corpus);
  const from = random.pick(valuesIn(donor).flatMap(({ members }) => members));
  if (from === undefined) return bytes;
  return replace(bytes, start, start, Buffer.concat([donor.subarray(from.start, from.value.end), Buffer.from(",")]));
};

const nest: Mutation = (random, bytes) => {
  const text = bytes.toString("latin1");
  const values = [...text.matchAll(/(?<=:)(\{\}|\[\]|\d+|"[^"]*")/g)];
  if (values.length === 0) return bytes;
  const { 0: value, index } = random.pick(values);
  const depth = random.pick([1, 3, 120, 124, 125, 126, 127, 130]);
  const wrapped = "[".repeat(depth) + value + "]".repeat(depth);
  return Buffer.from(text.slice(0, index) + wrapped + text.slice(index + value.length), "latin1");
};

const wrapInBatch: Mutation = (random, bytes, corpus) => {
  const others = Array.from({ length: random.below(3) }, () => random.pick(corpus));
  return Buffer.from(`[${[bytes, ...others].map((one) => one.toString("latin1")).join(",")}]`, "latin1");
};

const MUTATIONS: readonly Mutation[] = [
  [flipBit, insertByte, deleteBytes, truncate, spliceTokens, repeatMember, repeatMember, swapValue, swapValue],
  [swapValue, moveMember, moveMember, respellString, respellString, respellString, respellNumber, respellNumber],
  [insertBreak, insertBreak, smuggle, nest, wrapInBatch],
].flat();

const ODD_BYTES = [
  ['"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", " ", "\t", "\r", "\n", "\0", "\v", "\f", "\x1b"],
  ["\x7f", "\x80", "\xc0\xaf", "\xed\xa0\x80", "\xef\xbb\xbf", "\xff", "\xe2\x80\xa8", "\xc2\x85", "\xf4\x90\x80\x80"],
].flat();
const BREAKS = ["\r", "\r\n", "\n", "\r\r", " ", "\t", "\xe2\x80\xa8", "\v", "\0"];
const NUMBERS = [
  "n.0",
  "ne0",
  "nE+0",
  "-n",
  "+n",
  "0n",
  "n0",
  '"n"',
  '"0xn"',
  '" n"',
  '"n.0"',
  "1e400",
  "-0",
  "[n]",
].concat(["true", "null", "9007199254740991", "9007199254740993", '"-0"', '""', "n.5", "0xn", "NaN", '"\\u0037"']);

/** All values in a message, itself among them. Empty where it is no JSON. */
function valuesIn(bytes: Buffer): Tree[] {
  const known = valuesOf.get(bytes);
  if (known !== undefined) return known;
  const tree = readLeniently(bytes);
  const values = tree === null ? [] : descend(tree);
  valuesOf.set(bytes, values);
  return values;
}

const valuesOf = new WeakMap<Buffer, Tree[]>();

function descend(tree: Tree): Tree[] {
  return [tree, ...tree.elements.flatMap(descend), ...tree.members.flatMap(({ value }) => descend(value))];
}

/** The tokens of a message, or what looks like tokens. */
function tokens(bytes: Buffer): string[] {
  return bytes.toString("latin1").match(/"(?:[^"\\]|\\.)*"|[\w.+-]+|[^]/g) ?? [];
}

/** Another spelling of the text between two quotes. */
function respell(random: Random, word: string): string {
  const at = random.below(word.length + 1);
  const [before, after] = [word.slice(0, at), word.slice(at)];
  const character = after.charCodeAt(0) || 0x61;
  const code = character.toString(16).padStart(4, "0");
  switch (random.below(10)) {
    case 0:
      return word.toUpperCase();
    case 1:
      return before + after.charAt(0).toUpperCase() + after.slice(1);
    case 2:
      return `${before}\\u${random.chance(0.5) ? code : code.toUpperCase()}${after.slice(1)}`;
    case 3:
      return `${word}${random.pick(["\\u0000", " ", "\\u200b", "\\ufeff", "\\u00ad", "\\t", "\0", "/"])}`;
    case 4:
      return `${before}${random.pick(["\\u200d", "\xe2\x80\x8b", "\\ud800", "\\udc00", "\\ud83d\\ude00", "\\udb40\\udc41"])}${after}`;
    case 5: // full width
      return before + latin1(String.fromCharCode(character + 0xfee0)) + after.slice(1);
    case 6:
      return word.replace("s", latin1("ſ"));
    case 7:
      return word.replace("k", latin1("K"));
    case 8:
      return random.pick(WORDS);
    default:
      return `${random.pick([" ", "\\u0000", "\\u202e", "\xef\xbb\xbf", "./"])}${word}`;
  }
}

const WORDS = [
  ["denied_tool", "safe_tool", "Denied_Tool", "tools/call", "tools/list", "method", "params", "name", "id"],
  ["result", "error", "tools", "jsonrpc", "2.0", "__proto__", "notifications/tools/list_changed", "", "7", "5"],
].flat();

function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function insert(bytes: Buffer, at: number, text: string): Buffer {
  return replace(bytes, at, at, Buffer.from(text, "latin1"));
}

function replace(bytes: Buffer, start: number, end: number, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);
}
