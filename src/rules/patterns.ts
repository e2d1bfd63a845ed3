import type { RE2JS } from "re2js";
import { findAll } from "./find-all.ts";
import { isPlainPattern } from "./plain-pattern.ts";
import type { RulePattern } from "./rule.ts";
import { Unjudgeable } from "./unjudgeable.ts";

/** The longest text that is searched. */
export const MAX_MATCHED_CHARACTERS = 262_144;

/** The largest pattern that is accepted, in instructions. */
const MAX_PATTERN_SIZE = 2048;

/**
 * The cost limit for one search, in characters times instructions. The engine is linear, but its cost for each
 * character grows with the pattern: at worst ten nanoseconds for each instruction.
 */
export const MAX_MATCH_WORK = 16 * 2 ** 20;

/** What is wrong with a pattern, for the author of the policy file. */
export interface PatternProblem {
  readonly problem: string;
}

/** Compiles a pattern, or says what is wrong with it. */
export type CompilePattern = (source: string) => SizedPattern | PatternProblem;

/** A pattern, and the cost of running it. */
export interface SizedPattern extends RulePattern {
  readonly size: number;
  findAll: NonNullable<RulePattern["findAll"]>;
}

/** Loads the pattern engine. It is large, and only policies with patterns need it. */
export async function loadPatterns(): Promise<CompilePattern> {
  const { RE2JS: engine } = await import("re2js");
  const known = new Map<string, SizedPattern | PatternProblem>();
  return (source) => {
    const before = known.get(source);
    if (before !== undefined) return before;
    const made = isPlainPattern(source) ? putOff(engine, source) : compile(engine, source);
    if (known.size < MAX_KNOWN) known.set(source, made);
    return made;
  };
}

/** How many compiled patterns are cached. Rules share patterns, and compiling one can take milliseconds. */
const MAX_KNOWN = 10_000;

/** Whether a pattern compiled. */
export function isPattern(made: SizedPattern | PatternProblem): made is SizedPattern {
  return "test" in made;
}

/**
 * The cost of running a pattern on one character, in steps. Call it only when the pattern is run, because a plain
 * pattern is compiled to find out.
 */
export function sizeOf(pattern: RulePattern): number {
  return "size" in pattern && typeof pattern.size === "number" ? pattern.size : COMMON_SIZE;
}

/** The assumed size of a pattern that does not know its own. */
const COMMON_SIZE = 64;

/**
 * Compiling a pattern costs more than reading the rule around it. A pattern that is certain to compile is therefore
 * compiled when it is first used.
 */
function putOff(engine: typeof RE2JS, source: string): SizedPattern {
  let made: SizedPattern | undefined;
  const use = (): SizedPattern => (made ??= compilePlain(engine, source));
  return {
    source,
    get size() {
      return use().size;
    },
    test: (text) => use().test(text),
    findAll: (text, work) => use().findAll(text, work),
  };
}

function compilePlain(engine: typeof RE2JS, source: string): SizedPattern {
  const made = compile(engine, source);
  if (isPattern(made)) return made;
  throw new Unjudgeable(`a pattern that ${made.problem}`);
}

function compile(engine: typeof RE2JS, source: string): SizedPattern | PatternProblem {
  const unsupported = findUnsupported(source);
  if (unsupported !== null) return { problem: unsupported };
  // Cheap check first: expanding such a pattern would take milliseconds, only for it to be refused.
  const repeats = Array.from(source.matchAll(/\{(\d+)/g), ([, count]) => Number(count));
  if (repeats.reduce((sum, each) => sum + each, 0) > MAX_PATTERN_SIZE)
    return { problem: "is too large: it has too many repetitions" };
  let expression: RE2JS;
  try {
    // `\u` escapes are the one common JavaScript syntax that RE2 does not have.
    expression = engine.compile(
      source.replace(ESCAPES, (all, four: string | undefined, braced: string | undefined) => {
        const point = four ?? braced;
        return point === undefined ? all : `\\x{${point}}`;
      }),
    );
  } catch (error) {
    return { problem: `does not compile: ${describe(error)}` };
  }
  const size = expression.programSize();
  if (size > MAX_PATTERN_SIZE) return { problem: `is too large: counted repetitions are written out, ${size} steps` };
  const longest = Math.min(MAX_MATCHED_CHARACTERS, Math.floor(MAX_MATCH_WORK / size));
  const check = (text: string): void => {
    if (text.length > longest) throw new Unjudgeable(`a text of more than ${longest} characters`);
  };
  return {
    source,
    size,
    test(text) {
      check(text);
      return expression.test(text);
    },
    findAll: (text, work) => findAll(expression, source, text, work),
  };
}

const ESCAPES = /\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|[^])/g;

/**
 * Finds constructs of other engines that a linear-time engine does not have, because the engine's own error messages
 * for them do not help.
 */
function findUnsupported(source: string): string | null {
  for (const [, escape, group] of source.matchAll(CONSTRUCTS)) {
    if (group !== undefined) return `has a ${GROUPS.get(group)} (${group}…), which a linear-time engine does not have`;
    if (escape !== undefined) return `has a backreference (\\${escape}), which a linear-time engine does not have`;
  }
  return null;
}

// Character classes are skipped as a whole, because these constructs have no meaning in them.
const CONSTRUCTS = /\\(?:([1-9]|k(?=[<{']))|[^])|\[\^?\]?(?:\\[^]|[^\]\\])*\]|\((\?<?[=!]|\?P=|\?>|\?\()/g;

const GROUPS = new Map([
  ["?=", "lookahead"],
  ["?!", "lookahead"],
  ["?<=", "lookbehind"],
  ["?<!", "lookbehind"],
  ["?P=", "backreference"],
  ["?>", "atomic group"],
  ["?(", "conditional group"],
]);

function describe(error: unknown): string {
  const { message } = error as Error;
  return message.replace(/^error parsing regexp: /, "");
}
