import { mergeSettings, type OwnSettings } from "../config/merge-settings.ts";
import type { LoadedPolicy } from "./policy-file.ts";
import type { ProxyOptions } from "./proxy-options.ts";

/** Loads a policy file for `createProxy`. Rejects with a ProxyError that lists all mistakes of the file. */
export async function loadPolicyFile(
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<LoadedPolicy> {
  // Imported only here, because programs without a policy file do not need the parser.
  const reader = await import("./policy-file.ts");
  return reader.loadPolicyFile(file, env);
}

/**
 * Converts the settings of a policy file to options for `createProxy`: the server, the settings for HTTP clients,
 * filters, rules, limits and timeouts. `own` overrides them. The audit log and the log of the file are not included.
 */
export async function optionsFromPolicy(
  { settings: policy, folder }: LoadedPolicy,
  own: OwnSettings = {},
): Promise<ProxyOptions> {
  const { optionsOf } = await import("./settings-options.ts");
  const settings = mergeSettings(policy, own);
  const listen = settings.listen === null ? null : (await import("./listen-options.ts")).listenOf(settings);
  return { ...optionsOf(settings), ...(listen === null ? {} : { listen }), policy, policyFolder: folder };
}
