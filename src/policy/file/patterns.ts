import { RE2JS } from "re2js";
import { ProxyError } from "../../errors.ts";
import { showText } from "../../message/text.ts";
import { parsePattern, type Pattern } from "../patterns.ts";
import type { RulePattern } from "../rules/rule.ts";
import { list } from "./collections.ts";
import { type Flaw, isFlaw } from "./mistake.ts";
import type { ScalarNode } from "./node.ts";
import type { Engines, Problem } from "./page.ts";
import { refine, type Shape } from "./shape.ts";
import { text } from "./values.ts";

/** A pattern for rules: RE2 syntax, unanchored, run in linear time. `engine` runs it, where there is a special one. */
export function parseRulePattern(source: string, engine: Engines["pattern"] = null): RulePattern | Flaw {
  const compile = engine ?? compilePattern;
  // Making a program of a pattern costs more than reading the rule around it. Where it is clear that
  // there will be one, it is made when the pattern is first used.
  if (isPlainPattern(source)) {
    let program: RulePattern | undefined;
    return { source, test: (subject) => (program ??= compileOrThrow(compile, source)).test(subject) };
  }
  const made = compile(source);
  return "problem" in made ? explain(source, made.problem) : made;
}

function compileOrThrow(compile: NonNullable<Engines["pattern"]>, source: string): RulePattern {
  const made = compile(source);
  if ("problem" in made) throw new Error(`Pattern ${source} ${made.problem}`);
  return made;
}

function compilePattern(source: string): RulePattern | Problem {
  // Each takes milliseconds to write out, only to be refused.
  const repeats = Array.from(source.matchAll(/\{(\d+)/g), ([, count]) => Number(count));
  if (repeats.reduce((sum, each) => sum + each, 0) > MAX_PROGRAM_SIZE) return { problem: "too many repetitions" };
  try {
    const program = compile(source);
    const size = program.programSize();
    if (size > MAX_PROGRAM_SIZE) return { problem: `too large: repetitions are written out, ${size} steps` };
    return { source, test: (subject) => program.test(subject) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** What is done for each character of a text grows with it. */
const MAX_PROGRAM_SIZE = 2048;

/** RE2 does not know how JavaScript writes code points; nothing else is translated. */
function compile(source: string): RE2JS {
  return RE2JS.compile(/\\(?:u[\da-fA-F{]|c[A-Za-z])/.test(source) ? RE2JS.translateRegExp(source) : source);
}

/**
 * Whether a pattern has nothing in it but letters, well-known escapes, simple classes, groups,
 * alternatives and simple repetitions: there is no doubt that it compiles.
 */
export function isPlainPattern(source: string): boolean {
  if (source.length > MAX_PLAIN_CHARACTERS || !PLAIN.test(source)) return false;
  let open = 0;
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (character === "(") open++;
    else if (character === ")" && --open < 0) return false;
  }
  return open === 0;
}

const MAX_PLAIN_CHARACTERS = 256;

// One item, and behind it at most one repetition; none behind an anchor, a bracket that opens, or a bar.
const CLASS = String.raw`\[\^?(?:a-z|A-Z|0-9|a-f|A-F|[A-Za-z0-9_ ./:@,;=%#~!])+\]`;
const ITEM = String.raw`(?:[A-Za-z0-9_ /:@,;=%#~!&'"<>-]|\\[dDwWsS.\\/()[\]{}*+?|^$-]|\.|${CLASS}|\))`;
const PLAIN = new RegExp(`^(?:${ITEM}[*+?]?|\\^|\\$|\\\\b|\\|(?![*+?])|\\((?:\\?:)?(?![*+?)]))*$`);

/** Why a pattern does not compile, for whoever has to write it otherwise. */
function explain(source: string, reason: string): Flaw {
  const flaw = { at: 0, length: source.length };
  const shown = showText(source, 80);
  const around = /\(\?<?[=!]/.exec(source);
  if (around !== null && /Perl syntax|named capture|look(?:ahead|behind)/.test(reason)) {
    return {
      code: "not-re2",
      message: `Lookaround (${around[0]}) is not possible in the pattern of a rule: ${shown}`,
      suggestion: "Rules use RE2, which cannot be made to hang; use two conditions, or not",
      at: around.index,
      length: around[0].length,
    };
  }
  const back = /\\(?:[1-9]|k<)/.exec(source);
  if (back !== null && /escape sequence|backreference/.test(reason)) {
    return {
      code: "not-re2",
      message: `A backreference (${back[0]}) is not possible in the pattern of a rule: ${shown}`,
      suggestion: "Rules use RE2, which cannot be made to hang; write out what may be repeated",
      at: back.index,
      length: back[0].length,
    };
  }
  const why = showText(reason.replace(/^error parsing regexp: /, ""), 120);
  if (/Perl syntax|repeat count|nested repetition/.test(reason)) {
    const suggestion = /repeat count/.test(reason)
      ? "RE2 repeats at most 1000 times"
      : "Rules use RE2, which has no atomic groups and no possessive repetitions";
    return { code: "not-re2", message: `Not a pattern of RE2: ${shown} (${why})`, suggestion, ...flaw };
  }
  return {
    code: "bad-pattern",
    message: `Invalid regex pattern: ${shown} (${why})`,
    suggestion: suggestPattern(source, reason),
    ...flaw,
  };
}

function suggestPattern(source: string, reason: string): string {
  if (source.startsWith("*") || reason.includes("missing argument"))
    return "Patterns are no globs: write .* for any text";
  if (reason.includes("closing")) return "Close every bracket, or put a backslash before it";
  return "Pattern must be valid RE2 syntax";
}

/** The pattern of a rule. Rules share patterns, and some take milliseconds to compile. */
export function rulePattern(): Shape<RulePattern> {
  const shape = refine(text({ what: "a regular expression" }), (value, node, page) => {
    let found = page.patterns.get(value);
    if (found === undefined) page.patterns.set(value, (found = parseRulePattern(value, page.engines.pattern)));
    return isFlaw(found) ? page.flawed(node as ScalarNode, found) : found;
  });
  return { ...shape, schema: () => ({ $ref: "#/$defs/pattern" }) };
}

/** The patterns of a list of names to hide or to show, checked as those of the command line are. */
export function namePatterns(which: "deny" | "allow"): Shape<readonly Pattern[]> {
  return list(
    refine(text({ what: "a regular expression" }), (value, node, page) => {
      if (value.trim() === "")
        return page.wrong(node, "bad-pattern", `${page.name()} is empty`, "Write a pattern, or take it out");
      try {
        return parsePattern(value, which);
      } catch (error) {
        if (!(error instanceof ProxyError)) throw error;
        return page.wrong(
          node,
          error.code === "UNSAFE_PATTERN" ? "unsafe-pattern" : "bad-pattern",
          error.message,
          error.remedy,
        );
      }
    }),
  );
}
