import { mergeLog, mergeSettings, type Settings } from "../config/merge-settings.ts";
import type { LogSettings, PolicySettings } from "../config/settings.ts";
import { loadPolicyFile } from "../proxy/policy-file.ts";
import type { ProxyOptions } from "../proxy/proxy-options.ts";
import type { Command, Parsed } from "./command-line.ts";
import { checkTogether } from "./mistakes.ts";
import { readOwnLog, readOwnSettings } from "./own-settings.ts";

/** What a command line and the policy file that it may name come to. */
export interface Config {
  /** What both say; where they differ, what the command line says. */
  readonly settings: Settings;
  /** The rules and all else that no option says, and the patterns that hold. Empty without a policy file. */
  readonly policy: Pick<ProxyOptions, "policy" | "policyFolder">;
  /** What a person should know about it. */
  readonly warnings: readonly string[];
}

/**
 * Reads the file that --config names. Rejects with all its mistakes. `onLog` is told of the log before anything is said
 * about the options.
 */
export async function readConfig(
  given: Parsed,
  command: Command,
  env: NodeJS.ProcessEnv,
  onLog: (log: LogSettings) => void = () => {},
): Promise<Config> {
  const loaded = await loadPolicyFile(given.values.get("config")?.[0] ?? "", env);
  const { settings: file, folder } = loaded;
  onLog(mergeLog(file, readOwnLog(given)));
  checkTogether(given, command, new Set([...given.values.keys(), ...neededIn(file, given)]));
  const settings = mergeSettings(file, await readOwnSettings(given, env));
  const { deny, allow } = settings;
  return {
    settings,
    policy: { policy: { ...file, tools: { ...file.tools, deny, allow } }, policyFolder: folder },
    warnings: [
      ...loaded.warnings.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`),
      ...warnOfLoss(given, file, {
        file: loaded.file,
        isServing: settings.listen !== null || command.name !== "",
      }),
    ],
  };
}

/** The options that others need, and that a policy file takes the place of. */
function neededIn({ upstream, listen, auth, audit }: PolicySettings, { rest, values }: Parsed): string[] {
  const hasOwnServer = rest !== null || values.has("upstream");
  const isServing = values.has("listen") || listen !== null;
  const hasOwnAuth = values.has("auth-tokens") || values.has("auth-jwks");
  return [
    ...(upstream?.kind === "url" && !hasOwnServer ? ["upstream"] : []),
    ...(listen === null ? [] : ["listen"]),
    ...(auth?.kind === "jwt" && isServing && !hasOwnAuth ? ["auth-jwks"] : []),
    ...(audit === null ? [] : ["audit"]),
  ];
}

/** What stands in the file and does not hold. A filter that is thought to be there is worse than none. */
function warnOfLoss(
  given: Parsed,
  { tools, auth }: PolicySettings,
  { file, isServing }: { readonly file: string; readonly isServing: boolean },
): string[] {
  const lists = (["deny", "allow"] as const).filter((list) => given.values.has(list) && tools[list].length > 0);
  const warnings = lists.map((list) => `--${list} takes the place of tools.${list} in ${file}`);
  if (auth !== null && !isServing) warnings.push(`auth in ${file} has no effect: clients do not come by HTTP`);
  return warnings;
}
