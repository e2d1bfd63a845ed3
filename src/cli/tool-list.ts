import { showText } from "../message/text.ts";
import type { ToolReport } from "../proxy/inspect.ts";
import type { Paint, Tone } from "./output.ts";
import { pad, widthOf, wrapText } from "./terminal.ts";
import { denyPattern, type Effect, effectOf } from "./tool-effects.ts";

/** One tool in the list. */
export interface ListedTool {
  readonly tool: ToolReport;
  /** The cells between the hint and the numbers: whether it is shown or hidden, and its state in the lock file. */
  readonly fate: readonly string[];
  readonly tokens: number;
}

/** The layout of a list. */
export interface ListLayout {
  readonly paint: Paint;
  readonly columns: number;
  /** The headings of the cells between the hint and the numbers. */
  readonly fateHeading: readonly string[];
}

/** Lists tools with their effects and descriptions: as a table, or stacked if the terminal is too narrow. */
export function composeToolList(listed: readonly ListedTool[], { paint, columns, fateHeading }: ListLayout): string {
  const heading = ["TOOL", "HINT", ...fateHeading, "BYTES", "TOKENS"];
  const rows = listed.map(({ tool, fate, tokens }) => [
    showText(tool.name, MAX_NAME_CHARACTERS),
    readEffect(tool) ?? "-",
    ...fate.map((cell) => showText(cell, MAX_NAME_CHARACTERS)),
    String(tool.bytes),
    `~${tokens}`,
  ]);
  const all = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => widthOf(row[column]))));
  const isNarrow = widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1)) > columns;
  const lines = isNarrow
    ? []
    : [
        paint(
          "bold",
          layOut(heading, widths, (text) => text),
        ),
      ];
  for (const [index, { tool }] of listed.entries()) {
    const tones = toneOf(tool);
    if (isNarrow) lines.push(...stack(rows[index], columns, paint, tool));
    else lines.push(layOut(rows[index], widths, (text, column) => paint(tones[column] ?? "dim", text)));
    for (const line of wrapText(describe(tool), columns - 2)) lines.push(`  ${paint("dim", line)}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}

/** Suggests an option that hides the shown tools which may destroy something; empty if there are none. */
export function proposeDeny(
  tools: readonly ToolReport[],
  { paint, columns }: Pick<ListLayout, "paint" | "columns">,
): string {
  const names = tools.filter(({ hiddenBy }) => hiddenBy === null).filter(mayDestroy);
  const pattern = denyPattern(names.map(({ name }) => name));
  if (pattern === null) return "";
  const others = tools.some(({ hiddenBy }) => hiddenBy !== null) ? " as well" : "";
  const said = `Hints come from the server; hints with a question mark are guesses from the name. To hide the tools that may destroy something${others}:`;
  return `\n${wrapText(said, columns).join("\n")}\n  ${paint("cyan", `--deny '${pattern}'`)}\n`;
}

/** The suggested pattern alone, for programs. */
export function suggestDeny(tools: readonly ToolReport[]): string | null {
  return denyPattern(tools.filter((tool) => tool.hiddenBy === null && mayDestroy(tool)).map(({ name }) => name));
}

/** The effect of a tool. */
export function readEffect({ name, definition }: ToolReport): Effect {
  return effectOf(name, parse(definition));
}

function mayDestroy(tool: ToolReport): boolean {
  const effect = readEffect(tool);
  return effect === "destructive" || effect === "destructive?";
}

/**
 * The beginning of a tool's description, on one line. Characters that could control a terminal or hide text are
 * escaped.
 */
function describe({ definition }: ToolReport): string {
  const { description, title } = parse(definition);
  const text = [description, title].find((each) => typeof each === "string" && each.trim() !== "");
  return typeof text === "string" ? showText(text.trim().replaceAll(/[ \t\r\n]+/g, " "), MAX_TEXT_CHARACTERS) : "";
}

function parse(definition: string): { readonly description?: unknown; readonly title?: unknown } {
  try {
    const value = JSON.parse(definition) as unknown;
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

const MAX_NAME_CHARACTERS = 80;
const MAX_TEXT_CHARACTERS = 160;

function layOut(
  cells: readonly string[],
  widths: readonly number[],
  paint: (text: string, column: number) => string,
): string {
  const numbers = cells.length - 2;
  return cells
    .map((cell, column) => {
      const padded = pad(cell, widths[column], column < numbers ? "left" : "right");
      return padded.replace(cell, () => paint(cell, column));
    })
    .join("  ")
    .trimEnd();
}

/** The stacked layout for a narrow terminal: the name, and the rest below it. */
function stack(row: readonly string[], columns: number, paint: Paint, tool: ToolReport): string[] {
  const [name, hint, ...rest] = row;
  const facts = [
    ...(hint === "-" ? [] : [hint]),
    ...rest.slice(0, -2),
    `${rest.at(-2)} bytes`,
    `${rest.at(-1)} tokens`,
  ];
  const below = wrapText(facts.filter((fact) => fact !== "").join(", "), columns - 2);
  const tone = tool.hiddenBy === null ? "bold" : "dim";
  return [...wrapText(name, columns).map((line) => paint(tone, line)), ...below.map((line) => `  ${line}`)];
}

/** The colours of the name, the hint and the first cell after it. */
function toneOf(tool: ToolReport): readonly Tone[] {
  const isHidden = tool.hiddenBy !== null;
  const effect = readEffect(tool);
  return [isHidden ? "dim" : "bold", effect === null ? "dim" : EFFECTS[effect], isHidden ? "red" : "green"];
}

const EFFECTS: Record<NonNullable<Effect>, Tone> = {
  "read-only": "green",
  writes: "yellow",
  destructive: "red",
  "destructive?": "red",
};
