import { describeMethod, isKnownMethod, METHODS } from "../message/methods.ts";
import { showText } from "../message/text.ts";
import { editDistance } from "../text/nearest.ts";
import type { Condition } from "../rules/rule.ts";
import type { Page } from "./page.ts";
import type { Range } from "./source.ts";

/** The methods that conditions allow; null if they cannot be listed. */
export type Methods = ReadonlySet<string> | null;

/** The methods for which all of these conditions can hold, and the condition that excluded the last one. */
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

/** The limit of comparisons between names and conditions. Rules written by people stay far below it. */
const MAX_WORK = 1_000_000;

/** The methods that a condition names. */
export function listMethods(condition: Condition): ReadonlySet<string> | null {
  if (condition.is === "method_equals") return new Set([condition.text]);
  return condition.is === "method_in" ? condition.texts : null;
}

/** Whether a condition can hold for a message with this method. True for conditions about something else. */
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

// Methods that do not involve a tool. Lists are not included, because a rule that hides sees each element's name as the
// tool.
const TOOLLESS =
  /^(?:initialize|ping|(?:resources|prompts)\/(?!list$|templates\/list$).*|completion\/complete|logging\/setLevel|roots\/list)$/;

/** The suggestion for a method that the protocol does not have. */
export const VENDORS = "Leave it if a server of yours has it";

/**
 * Checks a complete method name. An unknown name that is similar to a known one is a mistake; any other is assumed to
 * be a vendor's method, with a warning.
 */
export function checkMethodName(name: string, range: Range, page: Page): boolean {
  // Names that a careless peer would read as a known method are reported when the rule is checked.
  if (isKnownMethod(name) || describeMethod(name) === null) return true;
  const shown = showText(name, 60);
  const meant = nearMethod(name);
  if (meant === null) page.warn(range, "unknown-method", `The protocol has no method ${shown}`, VENDORS);
  else page.wrong(range, "unknown-method", `There is no method ${shown}`, `Write ${meant}`);
  return meant === null;
}

/** The known method that a misspelt name such as `tool/call` stands for, or null. */
function nearMethod(name: string): string | null {
  const words = wordsOf(name);
  const joined = words.join("");
  // Names shorter than five letters are too short to tell a misspelling from another name.
  if (name.length > MAX_METHOD_CHARACTERS || joined.length < 5) return null;
  for (const known of METHODS) {
    const others = wordsOf(known.name);
    // Words may be in any order, because some libraries say `call_tool`, or joined into one word.
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

/**
 * Whether two words differ only by one or two typing mistakes. Short words must be equal: `get` and `set` are two
 * words.
 */
function isLike(one: string, other: string): boolean {
  const length = Math.max(one.length, other.length);
  return editDistance(one, other) <= (length < 4 ? 0 : length < 8 ? 1 : 2);
}

/**
 * Finds a method that no message can have, because a careless peer would read it as a known one and the proxy refuses
 * such messages.
 */
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
