import { describeMethod, isKnownMethod, METHODS } from "../../message/methods.ts";
import { showText } from "../../message/text.ts";
import { editDistance } from "../../text/nearest.ts";
import type { Condition } from "../rules/rule.ts";
import type { Page } from "./page.ts";
import type { Range } from "./source.ts";

/** The methods that conditions leave; null where they cannot be counted. */
export type Methods = ReadonlySet<string> | null;

/** The methods that can fulfil all of these conditions, and the condition that took the last one away. */
export function narrowMethods(conditions: readonly Condition[]): { methods: Methods; emptiedBy: Condition | null } {
  let methods: Methods = null;
  let work = MAX_WORK;
  for (const [nth, condition] of conditions.entries()) {
    const left: Methods = methods ?? listMethods(condition);
    if (left === null) continue;
    const asked: readonly Condition[] = methods === null ? conditions.slice(0, nth + 1) : [condition];
    work -= left.size * asked.length;
    if (work < 0) return { methods: null, emptiedBy: null };
    methods = new Set([...left].filter((name) => asked.every((each) => isMethodOf(each, name))));
    if (methods.size === 0) return { methods, emptiedBy: condition };
  }
  return { methods, emptiedBy: null };
}

/** How many names are compared with conditions. No rule that a person writes has so many. */
const MAX_WORK = 1_000_000;

/** The methods that a condition names. */
export function listMethods(condition: Condition): ReadonlySet<string> | null {
  if (condition.is === "method_equals") return new Set([condition.text]);
  return condition.is === "method_in" ? condition.texts : null;
}

/** Whether a message with this method can fulfil a condition. Of conditions about other things: yes. */
export function isMethodOf(condition: Condition, name: string): boolean {
  if (condition.is === "method_equals") return condition.text === name;
  if (condition.is === "method_in") return condition.texts.has(name);
  if (condition.is === "method_starts_with") return name.startsWith(condition.text);
  if (condition.is === "method_ends_with") return name.endsWith(condition.text);
  if (condition.is === "method_matches") return condition.pattern.test(name);
  if (condition.is === "tool_matches") return !TOOLLESS.test(name);
  if (condition.is !== "not" || !condition.condition.is.startsWith("method_")) return true;
  return !isMethodOf(condition.condition, name);
}

// Methods of the protocol that are about no tool. In a list, each element stands for one where a rule hides some.
const TOOLLESS =
  /^(?:initialize|ping|(?:resources|prompts)\/(?!list$|templates\/list$).*|completion\/complete|logging\/setLevel|roots\/list)$/;

/** What to do about a method that the protocol does not have. */
export const VENDORS = "Leave it if a server of yours has it";

/** Looks at the whole name of a method. One that is like a known one is a slip; others are taken for a vendor's. */
export function checkMethodName(name: string, range: Range, page: Page): boolean {
  // What a careless peer would take for a known one is found where rules are checked.
  if (isKnownMethod(name) || describeMethod(name) === null) return true;
  const shown = showText(name, 60);
  const meant = nearMethod(name);
  if (meant === null) page.warn(range, "unknown-method", `The protocol has no method ${shown}`, VENDORS);
  else page.wrong(range, "unknown-method", `There is no method ${shown}`, `Write ${meant}`);
  return meant === null;
}

/** The known method that was meant by a name that is not known, and is too like it to be another: `tool/call`. */
function nearMethod(name: string): string | null {
  const words = wordsOf(name);
  const joined = words.join("");
  // Of a name of four letters too little is left after a slip.
  if (name.length > MAX_METHOD_CHARACTERS || joined.length < 5) return null;
  for (const known of METHODS) {
    const others = wordsOf(known.name);
    // In whatever order: `call_tool` is what some libraries call it. Or in one word.
    const isSame = others.length === words.length ? isEachLike(words, others) : isLike(joined, others.join(""));
    if (isSame) return known.name;
  }
  return null;
}

const MAX_METHOD_CHARACTERS = 128;

function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z])([A-Z])/g, "$1/$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

function isEachLike(words: readonly string[], others: readonly string[]): boolean {
  const left = [...others];
  return words.every((word) => {
    const found = left.findIndex((other) => isLike(word, other));
    return found >= 0 && left.splice(found, 1).length === 1;
  });
}

/** Whether one word is the other with a slip of the finger or two. `get` and `set` are two words. */
function isLike(one: string, other: string): boolean {
  const length = Math.max(one.length, other.length);
  return editDistance(one, other) <= (length < 4 ? 0 : length < 8 ? 1 : 2);
}

/** A method that no message can have: it looks like a known one to a careless peer, so such messages are refused. */
export function findImpostor(condition: Condition): { readonly name: string; readonly known: string | null } | null {
  if (condition.is !== "method_equals" && condition.is !== "method_in") return null;
  for (const name of condition.is === "method_in" ? condition.texts : [condition.text]) {
    if (describeMethod(name) !== null) continue;
    const plain = name.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    const known = [plain, plain.replace("createmessage", "createMessage").replace("setlevel", "setLevel")].find(
      (each) => describeMethod(each)?.form !== undefined && describeMethod(each)?.form !== "either",
    );
    return { name, known: known ?? null };
  }
  return null;
}
