import { showText } from "../message/text.ts";
import { NOT_ACCEPTED, NOT_ALLOWED } from "../policy/tool-filter.ts";
import type { Settings } from "../config/merge-settings.ts";
import { optionsOf } from "../proxy/settings-options.ts";
import { type InspectOptions, type InspectReport, inspectTools, type ToolReport } from "../proxy/inspect.ts";
import type { PinReport } from "../proxy/inspect-pins.ts";
import { safeJsonLines } from "../record/log/safe-json.ts";
import type { Command, Parsed } from "./command-line.ts";
import type { ErrorOutput } from "./error-output.ts";
import { createPaint, print } from "./output.ts";
import { readSettings } from "./read-settings.ts";
import { noServer, openLog, value } from "./settings.ts";
import { createProgress, heedInterruptions } from "./progress.ts";
import { composeTable } from "./table.ts";
import { columnsOf } from "./terminal.ts";
import { composeToolList, proposeDeny, readEffect, suggestDeny } from "./tool-list.ts";
import { version } from "./version.ts";

/** Runs `fairlead tools`: lists the tools of a server, and which of them would be hidden. */
export async function runTools(parsed: Parsed, command: Command, errors: ErrorOutput): Promise<number> {
  const { settings, policy: said, warnings } = await readSettings(parsed, command, errors);
  const { policy } = said;
  const server = readServer(parsed, settings);
  const log = openLog(settings.log);
  for (const text of warnings) log.warn(text);
  const progress = createProgress(process.stderr);
  // Only a child process needs time to end after an interruption.
  const interruption = server.upstream === undefined ? heedInterruptions() : null;
  const report = await inspectTools({
    deny: settings.deny,
    allow: settings.allow,
    ...(policy === undefined ? {} : { policy }),
    ...server,
    onProgress: progress.tell,
    ...(interruption === null ? {} : { signal: interruption.signal }),
    ...readPins(parsed, policy?.tools.pin?.file),
    version: version(),
    log,
  }).finally(() => {
    progress.end();
    interruption?.end();
  });
  const format = value(parsed, "format") ?? (process.stdout.isTTY ? "full" : "table");
  await print(FORMATS[format as keyof typeof FORMATS](report));
  for (const warning of [...describeFaults(report), ...report.unmatched.map(unmatched)]) await errors.warning(warning);
  const isAccepting = parsed.values.has("accept");
  const isStrange = report.tools.some(({ pin }) => pin !== null && pin !== "unchanged");
  return isStrange && !isAccepting ? STRANGE_CODE : 0;
}

const STRANGE_CODE = 2;
const LOCK_FILE = "fairlead.lock";

/** The lock file, and the tools to accept in it. */
function readPins(parsed: Parsed, said: string | undefined): Pick<InspectOptions, "pin" | "accept"> {
  const names = parsed.values.get("accept");
  const pin = value(parsed, "pin") ?? said ?? (names === undefined ? undefined : LOCK_FILE);
  if (pin === undefined) return {};
  return names === undefined ? { pin } : { pin, accept: names.length === 0 ? "all" : names };
}

/** The server to ask, and the timeouts. */
export function readServer(parsed: Parsed, settings: Settings): InspectOptions {
  if (settings.upstream === null) throw noServer(parsed);
  const { command, env, cwd, upstream, headers, timeouts } = optionsOf(settings);
  const ca = value(parsed, "ca");
  const { toolList, connection } = timeouts ?? {};
  const times = {
    ...(toolList === undefined ? {} : { timeoutMs: toolList }),
    ...(connection === undefined ? {} : { connectTimeoutMs: connection }),
  };
  if (upstream === undefined)
    return { ...(command === undefined ? {} : { command }), ...(env === undefined ? {} : { env }), cwd, ...times };
  return { upstream, ...(headers === undefined ? {} : { headers }), ...(ca === undefined ? {} : { ca }), ...times };
}

const FORMATS = { table: composeReport, full: composeFull, names: composeNames, json: composeJson };

/** An estimate: English prose and JSON have about four bytes for each token. */
const BYTES_PER_TOKEN = 4;

function bytes(tools: readonly ToolReport[]): number {
  return tools.reduce((sum, tool) => sum + tool.bytes, 0);
}

function tokens(tools: readonly ToolReport[]): number {
  return Math.ceil(bytes(tools) / BYTES_PER_TOKEN);
}

function composeReport({ tools, pins }: InspectReport): string {
  const remembered = pins === null ? "" : composePins(tools, pins);
  if (tools.length === 0) return `The server has no tools.\n${remembered}`;
  const pinOf = (tool: ToolReport): string[] => (pins === null ? [] : [showPin(tool)]);
  const rows = tools.map((tool) => [
    tool.name,
    ...pinOf(tool),
    showFate(tool),
    String(tool.bytes),
    `~${tokens([tool])}`,
  ]);
  const heading = ["TOOL", ...(pins === null ? [] : ["PIN"]), "", "BYTES", "TOKENS"];
  const table = composeTable(
    heading,
    rows,
    heading.map((name) => (name === "BYTES" || name === "TOKENS" ? "right" : "left")),
  );
  return `${table}\n${composeSummary(tools)}\n${remembered}`;
}

/** The report with the description of each tool, for a terminal. */
function composeFull({ tools, pins }: InspectReport): string {
  const remembered = pins === null ? "" : composePins(tools, pins);
  if (tools.length === 0) return `The server has no tools.\n${remembered}`;
  const layout = { paint: createPaint(process.stdout, process.env), columns: columnsOf(process.stdout) };
  const listed = tools.map((tool) => ({
    tool,
    fate: [showFate(tool), ...(pins === null ? [] : [showPin(tool)])],
    tokens: tokens([tool]),
  }));
  const list = composeToolList(listed, { ...layout, fateHeading: ["", ...(pins === null ? [] : ["PIN"])] });
  return `${list}\n${composeSummary(tools)}\n${remembered}${proposeDeny(tools, layout)}`;
}

function showPin({ pin, formerly }: ToolReport): string {
  if (pin === null) return "-";
  return formerly === null ? pin : `${pin} from ${formerly}`;
}

/** The lines about the lock file. */
function composePins(tools: readonly ToolReport[], { file, isKnown, accepted, gone }: PinReport): string {
  const lines = [];
  if (accepted !== null) lines.push(`Accepted in ${file}: ${accepted.length === 0 ? "nothing" : named(accepted)}.`);
  else if (!isKnown) lines.push(`${file} has no entry for this server yet.`);
  else {
    const counts = STATES.map((state) => [state, tools.filter(({ pin }) => pin === state).length] as const);
    const shown = counts.filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`);
    lines.push(`Compared with ${file}: ${shown.join(", ") || "nothing"}.`);
  }
  if (gone.length > 0) lines.push(`Not listed any more: ${named(gone)}.`);
  return `${lines.join("\n")}\n`;
}

function named(names: readonly string[]): string {
  return names.map((name) => showText(name, 80)).join(", ");
}

const STATES = ["unchanged", "changed", "new", "renamed"] as const;

function showFate({ hiddenBy }: ToolReport): string {
  if (hiddenBy === null) return "shown";
  if (hiddenBy === NOT_ACCEPTED) return "hidden: not accepted";
  return hiddenBy === NOT_ALLOWED ? "hidden: not in the allow list" : `hidden by ${hiddenBy}`;
}

/** Warnings about entries of the list that are not valid tools. */
function describeFaults({ faults: { count, first } }: InspectReport): string[] {
  const lines = first.map(({ entry, why }) => `entry ${entry} of the list is not a tool and is hidden: ${why}`);
  if (count > first.length) lines.push(`${count - first.length} more entries are not tools`);
  return lines;
}

function unmatched(pattern: string): string {
  return `pattern "${pattern}" matches no tool`;
}

/** What the list costs in a model's context, and what hiding saves. */
function composeSummary(tools: readonly ToolReport[]): string {
  const shown = tools.filter((tool) => tool.hiddenBy === null);
  const hidden = tools.filter((tool) => tool.hiddenBy !== null);
  const cost = (some: readonly ToolReport[]): string => `${bytes(some)} bytes, ~${tokens(some)} tokens`;
  const count = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}`;
  if (hidden.length === 0) return `${count}, none hidden: ${cost(tools)} in a model's context.`;
  const share = Math.round((100 * bytes(hidden)) / bytes(tools));
  return [
    `${count}: ${shown.length} shown, ${hidden.length} hidden.`,
    `Shown:  ${cost(shown)} in a model's context.`,
    `Hidden: ${cost(hidden)} saved (${share} %).`,
  ].join("\n");
}

function composeNames({ tools }: InspectReport): string {
  return tools
    .filter((tool) => tool.hiddenBy === null)
    .map((tool) => `${showText(tool.name, Infinity)}\n`)
    .join("");
}

function composeJson({ tools, unmatched, pins }: InspectReport): string {
  const shown = tools.filter((tool) => tool.hiddenBy === null);
  const hidden = tools.filter((tool) => tool.hiddenBy !== null);
  const report = {
    tools: tools.map((tool) => ({
      name: tool.name,
      hiddenBy: tool.hiddenBy,
      bytes: tool.bytes,
      approximateTokens: tokens([tool]),
      effect: readEffect(tool),
      ...(pins === null ? {} : { pin: tool.pin, formerly: tool.formerly }),
    })),
    allowed: shown.map((tool) => JSON.parse(tool.definition) as unknown),
    denied: hidden.map((tool) => tool.name),
    invalidPatterns: unmatched,
    suggestedDeny: suggestDeny(tools),
    ...(pins === null ? {} : { pins }),
    approximateTokens: { all: tokens(tools), shown: tokens(shown), saved: tokens(hidden) },
  };
  return `${safeJsonLines(report)}\n`;
}
