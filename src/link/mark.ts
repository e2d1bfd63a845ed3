import { randomBytes } from "node:crypto";

/**
 * The variable in a child's environment by which we find what it started, also what left its
 * process group. Several of us in a row add to it, so that each finds its own.
 */
export const MARK_VARIABLE = "MARKED_BY_FAIRLEAD";

/** A mark that nobody else uses. */
export function createMark(): string {
  return randomBytes(12).toString("hex");
}

/** The environment of a child: ours and what was asked for, less what is meant for us, plus the mark. */
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
