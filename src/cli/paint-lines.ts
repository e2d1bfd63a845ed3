import type { Paint, Tone } from "./output.ts";

/**
 * Adds colours to mistakes in a policy file, in the format of `check` and of errors at start. The text stays the same.
 */
export function paintMistakes(text: string, paint: Paint): string {
  return eachLine(text, (line) => {
    const place = /^(\S.*?:\d+:\d+: )(warning: )?(.*)$/.exec(line);
    if (place !== null) {
      const [, where, warning = "", what] = place;
      return paint("bold", where) + paint(warning === "" ? "red" : "yellow", warning + what);
    }
    const marker = /^( +\| *)(\^+)$/.exec(line);
    if (marker !== null) return paint("dim", marker[1]) + paint("red", marker[2]);
    const excerpt = /^( +\d+ \| )(.*)$/.exec(line);
    if (excerpt !== null) return paint("dim", excerpt[1]) + excerpt[2];
    const advice = /^( += )(.*)$/.exec(line);
    if (advice !== null) return paint("dim", advice[1]) + paint("cyan", advice[2]);
    const summary = /^(\S.*: )(no mistakes|\d+ mistakes?)( \(.*\))?$/.exec(line);
    if (summary === null) return line;
    return summary[1] + paint(summary[2] === "no mistakes" ? "green" : "red", summary[2]) + (summary[3] ?? "");
  });
}

/** Adds colours to the output of `explain`. */
export function paintExplanation(text: string, paint: Paint): string {
  return eachLine(text, (line) => {
    const trace = /^( +)([✓✗?-])( .*)$/.exec(line);
    if (trace !== null) {
      const [, margin, sign, rest] = trace;
      const isRule = margin.length === RULE_MARGIN;
      return margin + paint(SIGNS[sign], sign) + (sign === "✓" && isRule ? paint("bold", rest) : rest);
    }
    const outcome = /^(Outcome: )(\w+)(.*)$/.exec(line);
    if (outcome !== null)
      return paint("bold", outcome[1]) + paint(toneOf(outcome[2], outcome[3]), outcome[2] + outcome[3]);
    if (/^ +→ /.test(line)) return paint("yellow", line);
    return line.startsWith("The tool filter hides") ? paint("red", line) : line;
  });
}

/** The indentation of rules. Their conditions are indented further. */
const RULE_MARGIN = 2;

const SIGNS: Record<string, Tone> = { "✓": "green", "✗": "dim", "?": "yellow", "-": "dim" };

function toneOf(word: string, rest: string): Tone {
  if (word === "refused" || word === "dropped") return "red";
  return word === "passes" && !rest.startsWith(", changed") ? "green" : "yellow";
}

function eachLine(text: string, change: (line: string) => string): string {
  return text.split("\n").map(change).join("\n");
}
