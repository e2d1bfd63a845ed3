import { mergeLog, mergeSettings, type Settings } from "../config/merge-settings.ts";
import type { LogSettings, PolicySettings } from "../config/settings.ts";
import { loadPolicyFile } from "../proxy/policy-file.ts";
import type { ProxyOptions } from "../proxy/proxy-options.ts";
import type { Command, Parsed } from "./command-line.ts";
import { checkTogether } from "./mistakes.ts";
import { readOwnLog, readOwnSettings } from "./own-settings.ts";

/** The settings from a command line and the policy file that it may name. */
export interface Config {
  /** The merged settings. The command line takes precedence. */
  readonly settings: Settings;
  /** The rules and other settings that have no option, with the merged patterns. Empty without a policy file. */
  readonly policy: Pick<ProxyOptions, "policy" | "policyFolder">;
  /** Warnings for people. */
  readonly warnings: readonly string[];
}

/**
 * Reads the policy file of `--config`. Rejects with all of its mistakes. `onLog` is called with the log settings before
 * the options are checked, so that errors are logged accordingly.
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

/** Options that other options need, and that the policy file sets instead. */
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

/**
 * Warns of settings in the policy file that have no effect. A filter that people believe to be active is worse than
 * none.
 */
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
