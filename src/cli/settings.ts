import { closeSync, openSync } from "node:fs";
import { ProxyError } from "../errors.ts";
import { parsePatternList, type Pattern } from "../policy/patterns.ts";
import { createLog, type Level, type Log } from "../record/log.ts";
import { type Parsed, usage } from "./options.ts";

/** The value of an option that is given at most once. */
export function value(parsed: Parsed, name: string): string | undefined {
  return parsed.values.get(name)?.[0];
}

/** The patterns of --deny or --allow. */
export function readPatterns(parsed: Parsed, list: "deny" | "allow"): Pattern[] {
  return (parsed.values.get(list) ?? []).flatMap((text) => parsePatternList(text, list));
}

/** The variables of --env. */
export function readEnvironment(parsed: Parsed): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const text of parsed.values.get("env") ?? []) {
    const equals = text.indexOf("=");
    if (equals <= 0) throw usage(`Not a variable: --env ${text}`, "Write --env NAME=value");
    variables[text.slice(0, equals)] = text.slice(equals + 1);
  }
  return variables;
}

/** The command after `--`. */
export function readCommand(parsed: Parsed, name: string): string[] {
  const command = parsed.rest ?? [];
  if (command.length === 0) {
    const words = name === "" ? "fairlead" : `fairlead ${name}`;
    throw usage("No server to start", `Write the server's command after two dashes: ${words} -- npx some-server`);
  }
  return [...command];
}

/** A time such as 500ms, 10s or 1m, in milliseconds. */
export function readTime(parsed: Parsed, name: string, fallback: number): number {
  const text = value(parsed, name);
  if (text === undefined) return fallback;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text);
  const milliseconds =
    match === null ? 0 : Number(match[1]) * { ms: 1, s: 1000, m: 60_000 }[match[2] as "ms" | "s" | "m"];
  if (!(milliseconds > 0 && milliseconds <= 2 ** 31 - 1)) {
    throw usage(`Not a positive duration: --${name} ${text}`, `Write a number and its unit, such as --${name} 10s`);
  }
  return milliseconds;
}

/** The log for people, as the options want it. */
export function openLog(parsed: Parsed): Log {
  const file = value(parsed, "log-file") ?? null;
  if (file !== null) checkWritable(file);
  return createLog({
    level: (value(parsed, "log-level") ?? "info") as Level,
    format: (value(parsed, "log-format") ?? "text") as "text" | "json",
    file,
  });
}

/** Makes sure at the start that a file can be written, rather than finding out later. */
function checkWritable(file: string): void {
  try {
    closeSync(openSync(file, "a", 0o600));
  } catch (cause) {
    const { code = "it cannot be opened" } = cause as NodeJS.ErrnoException;
    throw new ProxyError(
      "FILE_NOT_WRITABLE",
      `Cannot write to ${file}`,
      `${code}: check the path and its permissions`,
      {
        cause,
      },
    );
  }
}
