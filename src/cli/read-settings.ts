import { mergeLog, mergeSettings } from "../config/merge-settings.ts";
import type { Command, Parsed } from "./command-line.ts";
import type { Config } from "./config.ts";
import type { ErrorOutput } from "./error-output.ts";
import { readOwnLog, readOwnSettings } from "./own-settings.ts";

/** What a command line comes to, with the policy file that it may name. What reads one is loaded when there is one. */
export async function readSettings(parsed: Parsed, command: Command, errors: ErrorOutput): Promise<Config> {
  if (parsed.values.has("config")) {
    const { readConfig } = await import("./config.ts");
    return readConfig(parsed, command, process.env, errors.follow);
  }
  errors.follow(mergeLog(null, readOwnLog(parsed)));
  return { settings: mergeSettings(null, await readOwnSettings(parsed, process.env)), policy: {}, warnings: [] };
}
