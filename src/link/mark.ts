import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

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

/**
 * All processes that carry the mark, belong to the child's group or session, or descend from
 * those. Where there is no /proc, none are found and the group has to do.
 */
export function findMarked(mark: string, leader: number): number[] {
  const parents = new Map<number, number>();
  const found = new Set<number>();
  let entries: string[];
  try {
    entries = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  for (const name of entries) {
    const pid = Number(name);
    const stat = read(`/proc/${name}/stat`);
    // "pid (any text) state parent group session …": the text may hold spaces and parentheses.
    const [state, parent, group, session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === undefined || state === "Z" || state === "X") continue;
    parents.set(pid, Number(parent));
    const isOurs = Number(group) === leader || Number(session) === leader;
    if (isOurs || read(`/proc/${name}/environ`).includes(mark)) found.add(pid);
  }
  for (let grew = true; grew;) {
    grew = false;
    for (const [pid, parent] of parents) {
      if (found.has(pid) || !found.has(parent)) continue;
      found.add(pid);
      grew = true;
    }
  }
  found.delete(process.pid);
  return [...found];
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // gone meanwhile, or somebody else's
  }
}
