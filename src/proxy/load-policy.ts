import type { LoadedPolicy } from "./policy-file.ts";

/** Loads a policy file for `createProxy`. Rejects with a ProxyError that lists all mistakes of the file. */
export async function loadPolicyFile(
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<LoadedPolicy> {
  // Imported only here, because programs without a policy file do not need the parser.
  const reader = await import("./policy-file.ts");
  return reader.loadPolicyFile(file, env);
}
