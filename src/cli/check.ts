import { dirname, resolve } from "node:path";
import { composeMistakes, describeMistake } from "../config/compose-mistakes.ts";
import type { ToolFacts } from "../config/facts.ts";
import { composeJsonSchema } from "../config/json-schema.ts";
import { placePaths } from "../config/place-paths.ts";
import type { ReadPolicy } from "../config/read-policy.ts";
import type { PolicySettings } from "../config/settings.ts";
import { mergeSettings } from "../config/merge-settings.ts";
import { DEFAULT_TIMEOUTS } from "../proxy/limits.ts";
import { namesIn } from "../proxy/hub.ts";
import { inspectTools } from "../proxy/inspect.ts";
import { inspectPolicyFile } from "../proxy/policy-file.ts";
import { stampPolicy } from "../proxy/policy-stamp.ts";
import { safeJsonLines } from "../record/log/safe-json.ts";
import type { Parsed } from "./command-line.ts";
import { createPaint, print } from "./output.ts";
import { paintMistakes } from "./paint-lines.ts";
import { readOwnSettings } from "./own-settings.ts";
import { value } from "./settings.ts";
import { readServer } from "./tools.ts";
import { showWord, usage } from "./usage.ts";
import { version } from "./version.ts";

/**
 * Runs `fairlead check`: prints the mistakes in a policy file. Starts a server only if one is given. Exit code 1 means
 * mistakes.
 */
export async function runCheck(parsed: Parsed): Promise<number> {
  const { words, rest, values } = parsed;
  const [file = DEFAULT_FILE, extra] = words;
  if (extra !== undefined) throw usage(`Unexpected word: ${showWord(extra)}`, "Write fairlead check [file]");
  if (values.has("schema")) {
    await print(`${JSON.stringify(composeJsonSchema(), null, 2)}\n`);
    return 0;
  }
  let read = await inspectPolicyFile(file, process.env);
  const isAsked = rest !== null || values.has("upstream");
  // Do not start a server for a file that has to be fixed first.
  const tools = isAsked && read.policy !== null ? await askServer(parsed) : null;
  if (tools !== null) read = await inspectPolicyFile(file, process.env, { tools });
  const paint = createPaint(process.stdout, process.env);
  const isJson = value(parsed, "format") === "json";
  await print(isJson ? composeJson(file, read, tools) : paintMistakes(composeText(file, read, tools), paint));
  return read.policy === null ? 1 : 0;
}

const DEFAULT_FILE = "fairlead.yaml";

/** Asks a server for its tool list. */
async function askServer(parsed: Parsed): Promise<ToolFacts[]> {
  if (parsed.values.has("upstream") && parsed.rest !== null) {
    throw usage("A server is a command or a URL, not both", "Leave out --upstream, or what follows --");
  }
  const settings = mergeSettings(null, await readOwnSettings(parsed, process.env));
  const { tools } = await inspectTools({
    timeoutMs: DEFAULT_TIMEOUTS.toolList,
    ...readServer(parsed, settings),
    version: version(),
  });
  return tools.map(({ name, definition }) => {
    return { name, inputSchema: (JSON.parse(definition) as { inputSchema?: unknown }).inputSchema };
  });
}

/** The mistakes and warnings in the order of the file, and a summary. */
function composeText(
  file: string,
  { policy, mistakes, warnings }: ReadPolicy,
  tools: readonly ToolFacts[] | null,
): string {
  const found = [...mistakes, ...warnings].sort((one, other) => one.line - other.line || one.column - other.column);
  const counts = [
    ...(policy === null ? [] : describe(policy)),
    ...(tools === null ? [] : [`compared with ${count(tools.length, "tool")}`]),
    ...(warnings.length === 0 ? [] : [count(warnings.length, "warning")]),
  ];
  const verdict = policy === null ? count(mistakes.length, "mistake") : "no mistakes";
  const summary = `${showWord(file)}: ${verdict}${counts.length === 0 ? "" : ` (${counts.join(", ")})`}\n`;
  return found.length === 0 ? summary : `${composeMistakes(found, "text")}\n${summary}`;
}

function describe({ tools, prompts, resources, interceptor }: PolicySettings): string[] {
  const { rules, methodInterceptors, interceptors } = interceptor;
  const off = rules.filter(({ mode }) => mode === "off").length;
  const lists = [tools, prompts, resources];
  const patterns = lists.reduce((sum, { deny, allow }) => sum + deny.length + allow.length, 0);
  const counts: [number, string][] = [
    [methodInterceptors.size, "method interceptor"],
    [interceptors.length, "interceptor"],
    [patterns, "name pattern"],
  ];
  return [
    count(rules.length, "rule") + (off === 0 ? "" : `, ${off} off`),
    ...counts.filter(([number]) => number > 0).map(([number, noun]) => count(number, noun)),
  ];
}

/** The version under which the audit log records events judged by this policy, unless options override it. */
function versionOf(file: string, policy: PolicySettings): string {
  const { tools, interceptor } = placePaths(policy, dirname(resolve(file)));
  return stampPolicy({ ...tools, names: namesIn(policy), interceptor, observe: false }).version;
}

function composeJson(
  file: string,
  { policy, mistakes, warnings }: ReadPolicy,
  tools: readonly ToolFacts[] | null,
): string {
  const report = {
    file,
    valid: policy !== null,
    rules: policy?.interceptor.rules.length ?? null,
    policy: policy === null ? null : versionOf(file, policy),
    ...(tools === null ? {} : { tools: tools.length }),
    mistakes: mistakes.map(describeMistake),
    warnings: warnings.map(describeMistake),
  };
  return `${safeJsonLines(report)}\n`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
