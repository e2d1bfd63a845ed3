import { type InspectReport, inspectTools, type ToolReport } from "../proxy/inspect.ts";
import type { Parsed } from "./options.ts";
import { complain, print } from "./output.ts";
import { openLog, readCommand, readEnvironment, readPatterns, readTime, value } from "./settings.ts";
import { composeTable } from "./table.ts";
import { version } from "./version.ts";

/** Lists the tools of a server, and what would become of them. */
export async function runTools(parsed: Parsed): Promise<number> {
  const report = await inspectTools({
    command: readCommand(parsed),
    env: readEnvironment(parsed),
    cwd: value(parsed, "cwd"),
    deny: readPatterns(parsed, "deny"),
    allow: readPatterns(parsed, "allow"),
    timeoutMs: readTime(parsed, "tools-timeout", 10_000),
    version: version(),
    log: openLog(parsed),
  });
  await print(FORMATS[(value(parsed, "format") ?? "table") as keyof typeof FORMATS](report));
  for (const pattern of report.unmatched) await complain(`Warning: pattern "${pattern}" matches no tool\n`);
  return 0;
}

const FORMATS = { table: composeReport, names: composeNames, json: composeJson };

/** A rule of thumb: English prose and JSON come to about four bytes a token. */
const BYTES_PER_TOKEN = 4;

function tokens(tools: readonly ToolReport[]): number {
  return Math.ceil(tools.reduce((sum, tool) => sum + tool.bytes, 0) / BYTES_PER_TOKEN);
}

function composeReport({ tools }: InspectReport): string {
  const rows = tools.map((tool) => [
    tool.name,
    tool.hiddenBy === null ? "shown" : `hidden by ${tool.hiddenBy}`,
    String(tool.bytes),
    `~${tokens([tool])}`,
  ]);
  const hidden = tools.filter((tool) => tool.hiddenBy !== null);
  const all = tokens(tools);
  const saved = tokens(hidden);
  const summary = [`${tools.length} ${tools.length === 1 ? "tool" : "tools"}, ${hidden.length} hidden.`];
  if (hidden.length === 0) summary.push(`The list costs a model's context about ${all} tokens.`);
  else {
    const share = Math.round((100 * saved) / all);
    summary.push(`The list costs a model's context about ${all - saved} tokens instead of ${all}: ${share} % saved.`);
  }
  const table = composeTable(["TOOL", "", "BYTES", "TOKENS"], rows, ["left", "left", "right", "right"]);
  return `${tools.length === 0 ? "" : `${table}\n`}${summary.join(" ")}\n`;
}

function composeNames({ tools }: InspectReport): string {
  return tools
    .filter((tool) => tool.hiddenBy === null)
    .map((tool) => `${tool.name}\n`)
    .join("");
}

function composeJson({ tools, unmatched }: InspectReport): string {
  const shown = tools.filter((tool) => tool.hiddenBy === null);
  const hidden = tools.filter((tool) => tool.hiddenBy !== null);
  const report = {
    tools: tools.map((tool) => ({
      name: tool.name,
      hiddenBy: tool.hiddenBy,
      bytes: tool.bytes,
      approximateTokens: tokens([tool]),
    })),
    allowed: shown.map((tool) => JSON.parse(tool.definition) as unknown),
    denied: hidden.map((tool) => tool.name),
    invalidPatterns: unmatched,
    approximateTokens: { all: tokens(tools), shown: tokens(tools) - tokens(hidden), saved: tokens(hidden) },
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
