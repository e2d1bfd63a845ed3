import type { Command, Option } from "./command-line.ts";
import { COMMANDS } from "./commands.ts";

/** The help text of a command. */
export function composeHelp(command: Command): string {
  const summary = `${command.summary[0].toUpperCase()}${command.summary.slice(1)}.`;
  const lines = [...wrap("", summary), "", "Usage:"];
  for (const usage of command.usage) lines.push(`  ${usage}`);
  if (command.name === "") {
    lines.push("", "Commands:");
    const others = COMMANDS.filter((other) => other.name !== "" && other.isHidden !== true);
    const width = Math.max(...others.map((other) => other.name.length));
    for (const other of others) lines.push(...wrap(`  ${other.name.padEnd(width)}  `, other.summary));
  }
  lines.push("", "Options:");
  const width = Math.max(...command.options.map((option) => heading(option).length));
  for (const option of command.options) {
    const fallback = option.fallback === undefined ? "" : ` (default: ${option.fallback})`;
    const choices = option.choices === undefined ? "" : `: ${option.choices.join(", ")}`;
    const repeats = option.repeats === true ? "; may be repeated" : "";
    lines.push(...wrap(`  ${heading(option).padEnd(width)}  `, `${option.help}${repeats}${choices}${fallback}`));
  }
  if (command.notes.length > 0) lines.push("", ...command.notes);
  return `${lines.join("\n")}\n`;
}

function heading({ name, value }: Option): string {
  if (value !== null) return `--${name} ${value}`;
  return name === "help" ? "--help, -h" : name === "version" ? "--version, -V" : `--${name}`;
}

/** Wraps a text to 80 columns, with the following lines indented like the first one's text. */
function wrap(indent: string, text: string): string[] {
  const lines = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length + word.length > MAX_COLUMNS && line.length > indent.length) {
      lines.push(line.trimEnd());
      line = " ".repeat(indent.length);
    }
    line += `${word} `;
  }
  lines.push(line.trimEnd());
  return lines;
}

const MAX_COLUMNS = 80;
