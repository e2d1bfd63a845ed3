import type { Mistake } from "./mistake.ts";

/** Formats mistakes: for people with position, source line and suggestion, or for programs as JSON. */
export function composeMistakes(mistakes: readonly Mistake[], format: "text" | "json"): string {
  if (format === "json") return `${JSON.stringify(mistakes.map(describeMistake), null, 2)}\n`;
  return mistakes.map(composeText).join("\n");
}

/** A mistake for programs, without the excerpt. */
export function describeMistake(mistake: Mistake): Omit<Mistake, "excerpt"> {
  const { severity, code, file, line, column, path, message, suggestion, text } = mistake;
  return { severity, code, file, line, column, path, message, suggestion, text };
}

function composeText({ severity, file, line, column, message, suggestion, excerpt }: Mistake): string {
  const margin = " ".repeat(String(line).length);
  const lines = [`${file}:${line}:${column}: ${severity === "warning" ? "warning: " : ""}${message}`];
  if (excerpt.text.trim() !== "") {
    lines.push(` ${line} | ${excerpt.text}`, ` ${margin} | ${" ".repeat(excerpt.start)}${"^".repeat(excerpt.length)}`);
  }
  if (suggestion !== null) lines.push(` ${margin} = ${suggestion}`);
  return `${lines.join("\n")}\n`;
}
