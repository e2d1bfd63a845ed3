import { isUtf8 } from "node:buffer";
import { wouldRun, wouldShow } from "./lenient.ts";
import type { Direction, Expected, Model } from "./model.ts";
import { readJson, readLeniently, type Tree } from "./naive-json.ts";
import { foldNaively, member, readLine } from "./profile.ts";
import { UNKNOWN_TOOLS, WORLD, type Said } from "./rig.ts";

/** What the oracle has against what was heard because of one line; null when it is content. */
export type Complaint = string | null;

/** Holds what was heard because of one line against what should have been. */
export function examine(model: Model, line: Buffer, direction: Direction, said: Said, expected: Expected): Complaint {
  const onward = direction === "up" ? said.server : said.client;
  const back = direction === "up" ? said.client : said.server;
  return (
    examineOnward(model, line, direction, onward, expected) ??
    examineBack(model, line, direction, back, expected) ??
    examineHarm(direction, onward)
  );
}

function examineOnward(
  model: Model,
  line: Buffer,
  direction: Direction,
  onward: readonly string[],
  expected: Expected,
): Complaint {
  // Each answer in a batch that is refused ends a request of its own.
  if (expected.do === "refuse" && expected.why === "batch") {
    return onward.every((each) => endsRequest(model, direction, each, expected)) ? null : "passed a batch";
  }
  if (onward.length > 1) return `said ${onward.length} lines for one`;
  const [heard] = onward;
  const text = line.toString("latin1");
  switch (expected.do) {
    case "pass":
      return heard === text ? null : heard === undefined ? "held back what may pass" : "changed what passes";
    case "wait":
      if (!expected.allowed) return heard === undefined ? null : "passed a tool that is not allowed";
      return heard === text ? null : "did not pass what had waited";
    case "filter":
      return heard === undefined ? "held back a list" : examineList(text, heard, expected);
    case "refuse":
      if (heard === undefined) return expected.answers === undefined ? null : "left someone waiting";
      return endsRequest(model, direction, heard, expected) ? null : `passed what is refused (${expected.why})`;
    case "members":
      return examineMembers(model, line, direction, heard, expected);
  }
}

/** What is left of a list: the same text without the hidden elements and one comma for each. */
function examineList(text: string, heard: string, { list, hidden }: Extract<Expected, { do: "filter" }>): Complaint {
  const kept = list.elements.filter((element) => !hidden.includes(element));
  const after = text.slice(list.end);
  if (!heard.startsWith(text.slice(0, list.start + 1)) || !heard.endsWith(`]${after}`))
    return "changed more than the list";
  const tree = readLeniently(Buffer.from(heard.slice(list.start, heard.length - after.length), "latin1"));
  const left = tree?.elements.map(({ start, end }) => heard.slice(list.start + start, list.start + end)) ?? null;
  const wanted = kept.map(({ start, end }) => text.slice(start, end));
  return JSON.stringify(left) === JSON.stringify(wanted) ? null : "filtered a list wrongly";
}

/** Whether this is the one error that someone who waits for an answer gets in its place. */
function endsRequest(
  model: Model,
  direction: Direction,
  heard: string,
  expected: Extract<Expected, { do: "refuse" }>,
): boolean {
  const match = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),"error":\{"code":-32000,/.exec(heard);
  if (match === null) return false;
  const number = Number(JSON.parse(match[1]));
  const key = Number.isSafeInteger(number) ? number : (JSON.parse(match[1]) as string);
  if (expected.answers !== undefined) return expected.answers === key;
  const asked = direction === "up" ? "down" : "up";
  const wasOpen = model.waiting(asked).has(key);
  model.end(key, asked);
  return wasOpen;
}

function examineMembers(
  model: Model,
  line: Buffer,
  direction: Direction,
  heard: string | undefined,
  { tree, each }: Extract<Expected, { do: "members" }>,
): Complaint {
  const left = heard === undefined ? null : readLeniently(Buffer.from(heard, "latin1"));
  if (heard !== undefined && left?.kind !== "array") return "made no batch of a batch";
  const elements = (left?.elements ?? []).map((one: Tree) => heard?.slice(one.start, one.end) ?? "");
  if (heard !== undefined && elements.length === 0) return "passed an empty batch";
  let at = 0;
  let index = 0;
  for (const expected of each()) {
    const { start, end } = tree.elements[index++];
    const own = line.subarray(start, end);
    const complaint = examineOnward(model, own, direction, elements.slice(at, at + 1), expected);
    // What comes next may be the next member's, if nothing is left of this one.
    if (complaint !== null && examineOnward(model, own, direction, [], expected) !== null)
      return `${complaint} in a batch`;
    if (complaint === null && at < elements.length) at++;
  }
  return at === elements.length ? null : "passed a member that is refused";
}

/** Who asks is answered once, who does not is not; the answer has the asker's id or none. */
function examineBack(
  model: Model,
  line: Buffer,
  direction: Direction,
  back: readonly string[],
  expected: Expected,
): Complaint {
  if (back.length > 1) return "answered twice";
  const answer = back.length === 0 ? null : parse(back[0]);
  if (back.length > 0 && answer === null) return `answered with what is no answer: ${back[0]}`;
  if (expected.do === "members") return null;
  const isRefused = expected.do === "refuse" || (expected.do === "wait" && !expected.allowed);
  const asks = isRefused ? isAsking(line) : "no";
  if (asks === "no") return answer === null ? null : "answered what does not ask";
  if (asks === "yes" && answer === null) return "left a request without an answer";
  if (answer !== null && expected.do === "refuse" && isTaken(model, direction, answer.id))
    return "answered under an id that waits for another answer";
  const reading = readLine(line);
  const own = reading.kind === "request" ? reading.id?.plain : undefined;
  const fits = answer === null || answer.id === null || own === undefined || `${answer.id}` === own;
  return fits ? null : "answered somebody else";
}

function isTaken(model: Model, direction: Direction, id: string | number | null): boolean {
  if (id === null) return false;
  const number = Number(id);
  return model.waiting(direction).has(Number.isSafeInteger(number) ? number : id);
}

/** Whether whoever wrote a line waits for an answer. Who writes what is no JSON cannot expect one. */
function isAsking(line: Buffer): "yes" | "no" | "maybe" {
  let value: unknown;
  try {
    value = JSON.parse(line.toString("utf8"));
  } catch {
    // Too deep is noticed before it is noticed that the end is missing.
    return line.length > 128 ? "maybe" : "no";
  }
  if (readLine(line).kind === "refused" && !isUtf8(line)) return "no";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "yes";
  if (!Object.hasOwn(value, "id")) return "no";
  return Object.hasOwn(value, "method") || !(Object.hasOwn(value, "result") || Object.hasOwn(value, "error"))
    ? "yes"
    : "no";
}

/** What we say ourselves must be JSON, and an answer. */
function parse(line: string): { id: string | number | null } | null {
  if (readJson(Buffer.from(line, "latin1")).tree === null) return null;
  const answer = JSON.parse(Buffer.from(line, "latin1").toString("utf8")) as {
    id: string | number | null;
    method?: unknown;
  };
  return answer.method === undefined ? answer : null;
}

/** Whatever the profile says: nothing leaves that a careless peer would take for what is denied. */
function examineHarm(direction: Direction, onward: readonly string[]): Complaint {
  for (const text of onward) {
    const line = Buffer.from(text, "latin1");
    if (direction === "up" && wouldRun(line, isDenied)) return "passed a call that a careless server runs";
    if (direction === "down" && wouldShow(line, LISTS, isDenied)) return "passed a list that a careless client shows";
  }
  return null;
}

const DENIED_FOLDS = new Set(WORLD.tools.filter((name) => WORLD.denied.test(name)).map(foldNaively));
const LISTS = UNKNOWN_TOOLS.flatMap(({ line }) => {
  const tree = readLeniently(Buffer.from(line));
  const id = member(tree, "id");
  return id === undefined ? [] : [Number(line.slice(id.start, id.end))];
});

function isDenied(name: string): boolean {
  return DENIED_FOLDS.has(foldNaively(name));
}
