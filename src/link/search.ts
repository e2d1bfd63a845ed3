import { readdirSync, readFileSync } from "node:fs";

/**
 * Searches for all processes that carry the mark, belong to the child's group or session, or descend from those.
 * Without /proc none are found, and only the group can be ended.
 */
export interface Search {
  /**
   * Searches once. `onNew` is called for each new process at the moment it is found: a process that keeps replacing
   * itself by a child must be stopped while it lives.
   */
  look(): Sight;
}

/** The result of one search. */
export interface Sight {
  readonly pids: readonly number[];
  /** Whether every process could be read. One may have ended just before. */
  readonly isWhole: boolean;
}

/** Makes a search. It remembers the processes it has seen, so that only the first search has to read all of them. */
export function createSearch(mark: string, leader: number, onNew: (pid: number) => void = () => {}): Search {
  const ours = new Map<number, string>(); // with their start times, because process ids are reused
  const strangers = new Map<number, Relative>();
  const dead = new Set<number>();

  function take({ pid, start }: Relative): void {
    if (ours.get(pid) === start) return;
    ours.set(pid, start);
    onNew(pid);
  }

  return {
    look() {
      const living = new Set<number>();
      const others = new Map<number, Relative>();
      let isWhole = true;
      // Newest first, because it may be the one that ends soonest.
      const pids = listProcesses().toSorted((one, other) => other - one);
      for (const pid of pids) {
        if (dead.has(pid)) continue;
        const stranger = strangers.get(pid);
        if (stranger !== undefined) {
          others.set(pid, stranger);
          continue;
        }
        // Before anything else, for the same reason.
        const environment = readEnvironment(pid);
        const isMarked = environment?.includes(mark) === true;
        if (isMarked && !ours.has(pid)) onNew(pid);
        const relative = readRelative(pid);
        if (relative === null) {
          dead.add(pid);
          isWhole = false;
        } else if (isMarked || ours.get(pid) === relative.start || isMember(relative, leader)) {
          if (isMarked) ours.set(pid, relative.start);
          else take(relative);
          living.add(pid);
        } else {
          others.set(pid, relative);
          // A process that is about to exec another program has no environment for a moment.
          if (environment !== "" || relative.isKernel) strangers.set(pid, relative);
        }
      }
      for (let grew = true; grew;) {
        grew = false;
        for (const [pid, relative] of others) {
          if (!living.has(relative.parent)) continue;
          take(relative);
          living.add(pid);
          others.delete(pid);
          strangers.delete(pid);
          grew = true;
        }
      }
      const listed = new Set(pids);
      for (const pid of strangers.keys()) if (!listed.has(pid)) strangers.delete(pid);
      for (const pid of dead) if (!listed.has(pid)) dead.delete(pid);
      return { pids: [...living], isWhole };
    },
  };
}

function isMember({ group, session }: Relative, leader: number): boolean {
  return group === leader || session === leader;
}

/** What is known about a process. */
interface Relative {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly start: string;
  /** Whether it is a kernel thread. */
  readonly isKernel: boolean;
}

/** The ids of all processes except our own. */
function listProcesses(): number[] {
  try {
    return readdirSync("/proc").flatMap((name) => {
      const pid = Number(name);
      return pid > 0 && pid !== process.pid ? [pid] : [];
    });
  } catch {
    return [];
  }
}

/** Null for a process that is gone, is ending or is a zombie. */
function readRelative(pid: number): Relative | null {
  const stat = read(`/proc/${pid}/stat`) ?? "";
  // "pid (any text) state parent group session …": the text may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  if (parent === undefined || state === "Z" || state === "X") return null;
  const hasMemory = fields[20] !== "0";
  const isKernel = !hasMemory && group === "0";
  // A process that is ending has released its memory, and with it its environment.
  if (!hasMemory && !isKernel) return null;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    start: fields[19],
    isKernel,
  };
}

/** Null if there is no permission to read it. */
function readEnvironment(pid: number): string | null {
  return read(`/proc/${pid}/environ`);
}

/** Empty if the process is gone, null if there is no permission. */
function read(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "EACCES" || code === "EPERM" ? null : "";
  }
}
