import type { YAMLException } from "js-yaml";
import type { Page } from "./page.ts";

/** Reports a syntax error, and returns its offset. */
export function reportSyntax(page: Page, { reason, mark }: YAMLException): number {
  const at = Math.min(mark?.position ?? 0, page.source.text.length);
  const range = { start: at, end: at + 1 };
  if (/nesting/.test(reason)) page.wrong(range, "too-deep", "Nested too deep", "Make it flatter");
  else page.wrong(range, "syntax", `This is not YAML: ${reason}`, suggestSyntax(page.source.text, at, reason));
  return at;
}

function suggestSyntax(text: string, at: number, reason: string): string | null {
  const line = text.slice(text.lastIndexOf("\n", Math.max(at - 1, 0)) + 1).split("\n", 1)[0];
  if (/^\s*\t/.test(line) || /tab/i.test(reason)) return "Indent with spaces, not with tabs";
  if (/^\s*(?:- )?[^\s"'#]+:\s+[*&!%@`]/.test(line)) return "Put the value in quotes";
  if (/^[^"']*"[^"]*\\[^"\\/abefnrtv0NLP_xuU \t]/.test(line)) return "Write two backslashes, or use single quotes";
  if (/^\s*(?:- +)*[\w./-]+:\s+[^\s"'[{#&*|>][^"'#]*:\s/.test(line))
    return "Put a value that has a colon in it in quotes";
  if (/indentation|flow|expected/i.test(reason))
    return "Look at brackets and quotes that do not end, and at the indentation";
  return null;
}

/**
 * Versions of the file with one part blanked out: the rule around an offset, the rule before it, which may be the
 * cause, or the whole top-level key. Everything else keeps its position.
 */
export function leaveOut(text: string, at: number): string[] {
  const lines = text.split("\n");
  let nth = 0;
  for (let start = 0; nth < lines.length - 1 && start + lines[nth].length < at; nth++) start += lines[nth].length + 1;
  const rests: string[] = [];
  const item = findBefore(lines, nth, /^ +- +id:/);
  for (const first of [item, findBefore(lines, item - 1, /^ +- +id:/)]) {
    // Blanking out the only item of a key would cause another mistake.
    if (first <= 0 || lines[first - 1].trimEnd().endsWith(":")) continue;
    const indent = lines[first].search(/\S/);
    rests.push(blank(lines, first, (line) => line.search(/\S/) <= indent));
  }
  const section = findBefore(lines, nth, /^[^\s#-]/);
  if (section >= 0) rests.push(blank(lines, section, (line) => /^[^\s#-]/.test(line)));
  return rests;
}

function findBefore(lines: readonly string[], from: number, pattern: RegExp): number {
  let nth = from;
  while (nth >= 0 && !pattern.test(lines[nth])) nth--;
  return nth;
}

/** Replaces the lines from `from` up to the next item by spaces. */
function blank(lines: readonly string[], from: number, isNext: (line: string) => boolean): string {
  let to = from + 1;
  while (to < lines.length && (lines[to].trim() === "" || !isNext(lines[to]))) to++;
  return lines.map((line, nth) => (nth >= from && nth < to ? " ".repeat(line.length) : line)).join("\n");
}
