import type { RE2JS } from "re2js";
import { findAll } from "./find-all.ts";
import { isPlainPattern } from "./plain-pattern.ts";
import type { RulePattern } from "./rule.ts";
import { Unjudgeable } from "./unjudgeable.ts";

/** Longer texts are not searched. */
export const MAX_MATCHED_CHARACTERS = 262_144;

/** Larger patterns, by the number of their instructions, are refused. */
const MAX_PATTERN_SIZE = 2048;

/**
 * How many characters times instructions one search may cost. The engine is linear, but what it
 * does for each character grows with the pattern: at worst ten nanoseconds for each instruction.
 */
export const MAX_MATCH_WORK = 16 * 2 ** 20;

/** What is wrong with a pattern, for the one who wrote it. */
export interface PatternProblem {
  readonly problem: string;
}

/** Turns the source of a pattern into one that can be run, or says what is wrong with it. */
export type CompilePattern = (source: string) => SizedPattern | PatternProblem;

/** A pattern, and what running it costs. */
export interface SizedPattern extends RulePattern {
  readonly size: number;
  findAll: NonNullable<RulePattern["findAll"]>;
}

/** Loads the engine for patterns. It is large; only policies that have patterns need it. */
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

/** Rules share patterns; compiling one can take milliseconds. */
const MAX_KNOWN = 10_000;

/** Whether something is a pattern that can be run. */
export function isPattern(made: SizedPattern | PatternProblem): made is SizedPattern {
  return "test" in made;
}

/** What running a pattern on one character costs, in steps. Asked when it is run: it shows when the pattern is compiled. */
export function sizeOf(pattern: RulePattern): number {
  return "size" in pattern && typeof pattern.size === "number" ? pattern.size : COMMON_SIZE;
}

/** What a pattern counts for that does not say how large it is. */
const COMMON_SIZE = 64;

/**
 * Making a program of a pattern costs more than reading the rule around it. Where it is clear that
 * there will be one, it is made when the pattern is first used.
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
  // Such a one would take milliseconds to write out, only to be refused.
  const repeats = Array.from(source.matchAll(/\{(\d+)/g), ([, count]) => Number(count));
  if (repeats.reduce((sum, each) => sum + each, 0) > MAX_PATTERN_SIZE)
    return { problem: "is too large: it has too many repetitions" };
  let expression: RE2JS;
  try {
    // The one spelling of JavaScript that RE2 does not know and everybody writes.
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

/** What people know from other engines, and a linear one cannot do. The engine's own words for it help nobody. */
function findUnsupported(source: string): string | null {
  for (const [, escape, group] of source.matchAll(CONSTRUCTS)) {
    if (group !== undefined) return `has a ${GROUPS.get(group)} (${group}…), which a linear-time engine does not have`;
    if (escape !== undefined) return `has a backreference (\\${escape}), which a linear-time engine does not have`;
  }
  return null;
}

// Classes are stepped over as a whole: in them these mean nothing.
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
