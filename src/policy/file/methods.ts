import { describeMethod } from "../../message/methods.ts";
import type { Condition } from "../rules/rule.ts";

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

// Methods of the protocol that are about no tool.
const TOOLLESS = /^(?:initialize|ping|resources\/.*|prompts\/.*|completion\/complete|logging\/setLevel|roots\/list)$/;

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
