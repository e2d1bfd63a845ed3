import { mergeLog, mergeSettings } from "../config/merge-settings.ts";
import type { Command, Parsed } from "./command-line.ts";
import type { Config } from "./config.ts";
import type { ErrorOutput } from "./error-output.ts";
import { readOwnLog, readOwnSettings } from "./own-settings.ts";

/**
 * The settings of a command line, merged with the policy file that it may name. The code that reads policy files is
 * loaded only if there is one.
 */
export async function readSettings(parsed: Parsed, command: Command, errors: ErrorOutput): Promise<Config> {
  if (parsed.values.has("config")) {
    const { readConfig } = await import("./config.ts");
    return readConfig(parsed, command, process.env, errors.follow);
  }
  errors.follow(mergeLog(null, readOwnLog(parsed)));
  return { settings: mergeSettings(null, await readOwnSettings(parsed, process.env)), policy: {}, warnings: [] };
}
