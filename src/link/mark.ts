import { randomBytes } from "node:crypto";

/**
 * The environment variable that marks a child process, so that everything it starts can be found, including processes
 * that left its group. Nested proxies append to it, so that each finds its own processes.
 */
export const MARK_VARIABLE = "MARKED_BY_FAIRLEAD";

/** A unique mark. */
export function createMark(): string {
  return randomBytes(12).toString("hex");
}

/**
 * The environment of a child process: ours and the configured variables, without those meant for the proxy, plus the
 * mark.
 */
export function markedEnvironment(
  own: NodeJS.ProcessEnv,
  extra: Readonly<Record<string, string>>,
  mark: string,
): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(own)) {
    if (!name.toUpperCase().startsWith("FAIRLEAD_")) environment[name] = value;
  }
  const marks = own[MARK_VARIABLE];
  return { ...environment, ...extra, [MARK_VARIABLE]: marks === undefined ? mark : `${marks}:${mark}` };
}
