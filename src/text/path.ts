import { showText } from "../message/text.ts";

/** The steps of a path into a JSON value: keys, and indices of arrays. */
export type Steps = readonly (string | number)[];

/** Why a text is not a valid path, and where the mistake is. */
export interface PathFlaw {
  readonly message: string;
  readonly suggestion: string | null;
  readonly at: number;
  readonly length: number;
}

/** Whether `readPath` returned a flaw and not a path. */
export function isPathFlaw(found: Steps | PathFlaw): found is PathFlaw {
  return !Array.isArray(found);
}

/**
 * Reads a path into a JSON value: a dotted path (`arguments.path`, `content[0].text`, `a["x.y"]`) or
 * a JSON Pointer (`/a/0`). Rules and filters both use this function, so they have the same syntax.
 */
export function readPath(text: string): Steps | PathFlaw {
  if (text === "") return flaw("A field is empty", "Write a path such as arguments.path", 0, 0);
  const steps = SIMPLE.test(text) ? text.split(".") : text.startsWith("/") ? readPointer(text) : readDotted(text);
  if (isPathFlaw(steps)) return steps;
  if (steps.length > MAX_STEPS)
    return flaw(`A field goes more than ${MAX_STEPS} levels deep`, "Make it shorter", 0, text.length);
  const forbidden = steps.find((step) => typeof step === "string" && FORBIDDEN.has(step));
  if (forbidden !== undefined) {
    const at = Math.max(0, text.indexOf(String(forbidden)));
    return flaw(`${forbidden} cannot be part of a field`, "Take it out", at, String(forbidden).length);
  }
  return steps;
}

const SIMPLE = /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/;
const MAX_STEPS = 64;

// Security: with these keys a path would lead out of the message, to the prototype of all objects.
const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);

/** JSON Pointer, RFC 6901. A step that looks like an index is an index in an array, and a key in an object. */
function readPointer(text: string): Steps | PathFlaw {
  const steps: (string | number)[] = [];
  let at = 1;
  for (const token of text.slice(1).split("/")) {
    const odd = /~(?![01])/.exec(token);
    if (odd !== null)
      return flaw("A ~ in a JSON Pointer stands before 0 or 1", "Write ~0 for ~ and ~1 for /", at + odd.index, 2);
    steps.push(asStep(token.replaceAll("~1", "/").replaceAll("~0", "~")));
    at += token.length + 1;
  }
  return steps;
}

// A name, an index in brackets, or a quoted name with or without brackets.
const NAME = /[^.[\]"'\s*$?]+/y;
const INDEX = /\[(\d+)\]/y;
const QUOTED = /(\[)?(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')(\])?/y;

function readDotted(text: string): Steps | PathFlaw {
  const steps: (string | number)[] = [];
  let at = 0;
  while (at < text.length) {
    if (at > 0 && text[at] === ".") {
      at++;
      if (at === text.length)
        return flaw("A field ends with a dot", `Write ${showText(text.slice(0, -1), 60)}`, at - 1, 1);
    } else if (at > 0 && text[at] !== "[") return oddCharacter(text, at);
    const [name, index, quoted] = [NAME, INDEX, QUOTED].map((pattern) => {
      pattern.lastIndex = at;
      return pattern.exec(text);
    });
    const inBrackets = quoted?.[1] !== undefined;
    if (index !== null && text[at - 1] !== ".") steps.push(Number(index[1]));
    else if (quoted !== null && inBrackets === (quoted[4] !== undefined)) {
      steps.push((quoted[2] ?? quoted[3]).replaceAll(/\\(.)/g, "$1"));
    } else if (name !== null) steps.push(asStep(name[0]));
    else return oddCharacter(text, at);
    const last = steps.at(-1);
    if (typeof last === "number" && !Number.isSafeInteger(last)) return flaw("An index is too large", null, at, 1);
    at += (index !== null && text[at - 1] !== "." ? index : (quoted ?? name ?? [""]))[0].length;
  }
  return steps;
}

function asStep(token: string): string | number {
  return /^(?:0|[1-9]\d{0,14})$/.test(token) ? Number(token) : token;
}

function oddCharacter(text: string, at: number): PathFlaw {
  const character = text[at];
  if (character === "*" || text.startsWith("[*", at))
    return flaw("A field has no wildcards", "Write the index or the key", at, 1);
  if (character === "$")
    return flaw("A field begins with its first key", `Write ${showText(text.replace(/^\$\.?/, ""), 60)}`, at, 1);
  if (character === ".")
    return flaw("A key is missing between two dots", "Put a key that has a dot in it in quotes", at, 1);
  if (character === "[")
    return flaw("What stands in brackets is an index or a quoted key", 'Write [0] or ["key"]', at, 1);
  const shown = showText(character);
  return flaw(`"${shown}" cannot stand here in a field`, 'Put a key with odd characters in quotes: ["a key"]', at, 1);
}

function flaw(message: string, suggestion: string | null, at: number, length: number): PathFlaw {
  return { message, suggestion, at, length };
}
