import type { Condition } from "../rules/rule.ts";
import { type PatternProblem, readTouchGlob, readTouchPath, type TouchPattern } from "../rules/touches/patterns.ts";
import { list, map } from "./collections.ts";
import { field } from "./fields.ts";
import { optional, refine, type Shape } from "./shape.ts";
import { text } from "./values.ts";

const NONE = Object.freeze([]);

/** A path or glob that can be compared with the paths in a message. */
function target(what: string, read: (text: string) => TouchPattern[] | PatternProblem): Shape<string> {
  return refine(text({ what }), (value, node, page) => {
    const made = value.includes("\0") ? NUL : read(value);
    if (Array.isArray(made)) return value;
    return page.wrong(node, "wrong-value", `${page.name()} cannot be used: ${made.problem}`, made.suggestion);
  });
}

const NUL: PatternProblem = { problem: "It has a NUL in it", suggestion: "Take it out" };

const PATH = refine(target("a path such as ~/.ssh", readTouchPath), (value, node, page) => {
  if (/[*?]/.test(value)) {
    const message = `${page.name()} has wildcards, and a path has none`;
    return page.wrong(node, "wrong-value", message, "Write it under globs");
  }
  if (/^(?:[/\\~]|[A-Za-z]:[\\/]|[A-Za-z][A-Za-z0-9+.-]+:\/)/.test(value)) return value;
  const message = `${page.name()} must be an absolute path, a path in a home directory (~/…) or a URL`;
  return page.wrong(node, "wrong-value", message, `For ${value} in any directory, write globs: ["**/${value}"]`);
});

const KEYS = map({
  paths: optional(
    list(PATH, { min: 1 }),
    "Files and directories, including everything below them. ~ means any home directory.",
    NONE,
  ),
  globs: optional(
    list(target("a glob such as **/.env", readTouchGlob), { min: 1 }),
    "Globs: * is anything in a name, ** any directories, {a,b} alternatives. Without a slash it is a name in any directory.",
    NONE,
  ),
  fields: optional(list(field("params"), { min: 1 }), "Where to look; everywhere by default.", null),
});

/** The `touches` condition. */
export const TOUCHES: Shape<Condition> = refine(KEYS, ({ paths, globs, fields }, node, page) => {
  if (paths.length + globs.length > 0) return { is: "touches", paths, globs, fields };
  return page.wrong(node, "missing-key", "touches has neither paths nor globs", 'Add globs: ["**/.env", "~/.ssh/**"]');
});
