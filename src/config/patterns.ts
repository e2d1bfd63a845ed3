import { ProxyError } from "../errors.ts";
import { showText } from "../message/text.ts";
import { parsePattern, type Pattern } from "../policy/patterns.ts";
import type { RulePattern } from "../rules/rule.ts";
import { warnOfToolPattern } from "./against-server.ts";
import { list } from "./collections.ts";
import { type Flaw, isFlaw } from "./mistake.ts";
import type { ScalarNode } from "./node.ts";
import { type Engines, isProblem } from "./page.ts";
import { refine, type Shape } from "./shape.ts";
import { text } from "./values.ts";

/** Compiles a pattern for rules: RE2 syntax, unanchored, run in linear time. */
export function parseRulePattern(source: string, compile: Engines["pattern"]): RulePattern | Flaw {
  const made = compile(source);
  return isProblem(made) ? explain(source, made.problem) : made;
}

/** Explains why a pattern does not compile, and what to write instead. */
function explain(source: string, reason: string): Flaw {
  const flaw = { at: 0, length: source.length };
  const shown = showText(source, 80);
  const around = /\(\?<?[=!]/.exec(source);
  if (around !== null && /look(?:ahead|behind)/.test(reason)) {
    // Lists of names refuse lookbehind too, because their safety check does not support it.
    const elsewhere = around[0].startsWith("(?<") ? "" : ". Lists such as tools.deny know it";
    return {
      code: "not-re2",
      message: `Lookaround (${around[0]}) is not possible in the pattern of a rule: ${shown}`,
      suggestion: `Rules use RE2, which cannot be made to hang: use two conditions, or not${elsewhere}`,
      at: around.index,
      length: around[0].length,
    };
  }
  const back = /\\(?:[1-9]|k<)/.exec(source);
  if (back !== null && reason.includes("backreference")) {
    return {
      code: "not-re2",
      message: `A backreference (${back[0]}) is not possible in the pattern of a rule: ${shown}`,
      suggestion:
        "Rules use RE2, which cannot be made to hang: write out what may be repeated. Lists such as tools.deny know it",
      at: back.index,
      length: back[0].length,
    };
  }
  const why = showText(reason.replace(/^does not compile: /, ""), 120);
  if (/linear-time|Perl syntax|repeat count|nested repetition/.test(reason)) {
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
  if (source.includes("[^]")) return "Rules use RE2, which has no [^]: write (?s:.) for any character";
  if (source.startsWith("*") || reason.includes("missing argument"))
    return "Patterns are not globs: write .* for any text";
  if (reason.includes("closing")) return "Close every bracket, or put a backslash before it";
  return "Pattern must be valid RE2 syntax";
}

/**
 * The pattern of a rule. Compiled patterns are reused, because rules share them and some take milliseconds to compile.
 */
export function rulePattern(): Shape<RulePattern> {
  const shape = refine(text({ what: "a regular expression" }), (value, node, page) => {
    let found = page.patterns.get(value);
    if (found === undefined) page.patterns.set(value, (found = parseRulePattern(value, page.engines.pattern)));
    return isFlaw(found) ? page.flawed(node as ScalarNode, found) : found;
  });
  return { ...shape, schema: () => ({ $ref: "#/$defs/pattern" }) };
}

/** The patterns of a `deny` or `allow` list, with the same checks as on the command line. */
export function namePatterns(which: "deny" | "allow"): Shape<readonly Pattern[]> {
  return list(
    refine(text({ what: "a regular expression" }), (value, node, page) => {
      if (value.trim() === "")
        return page.wrong(node, "bad-pattern", `${page.name()} is empty`, "Write a pattern, or take it out");
      try {
        const pattern = parsePattern(value, which);
        // Only tools are checked, because the names of prompts and resources are not known.
        if (page.path[0] === "tools") {
          warnOfToolPattern({ source: value, test: (name) => pattern.expression.test(name) }, node, page);
        }
        return pattern;
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
