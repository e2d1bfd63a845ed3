import { createRequire } from "node:module";
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { reasonOf } from "./reason.ts";

/**
 * Loads a user's module: by its path, relative to a folder, or by the name of its package. Rejects with a message for
 * people.
 */
export async function importModule(module: string, folder: string): Promise<Record<string, unknown>> {
  try {
    return (await import(locate(module, folder))) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`${module} cannot be loaded: ${reasonOf(cause)}`, { cause });
  }
}

function locate(module: string, folder: string): string {
  const isPath = isAbsolute(module) || /^\.{1,2}[\\/]/.test(module) || /\.[cm]?[jt]s$/.test(module);
  if (isPath) return pathToFileURL(isAbsolute(module) ? module : resolve(folder, module)).href;
  // Resolve the package from the folder of the policy file, not from that of the proxy.
  return pathToFileURL(createRequire(resolve(folder, "policy.js")).resolve(module)).href;
}
