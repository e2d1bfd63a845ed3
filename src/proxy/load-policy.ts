import type { LoadedPolicy } from "./policy-file.ts";

/** Loads a policy file, for `createProxy`. Rejects with a ProxyError that has all its mistakes. What it takes to read one is loaded now. */
export async function loadPolicyFile(
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<LoadedPolicy> {
  const reader = await import("./policy-file.ts");
  return reader.loadPolicyFile(file, env);
}
