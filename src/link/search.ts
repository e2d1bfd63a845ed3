import { readdirSync, readFileSync } from "node:fs";

/**
 * Looks for all processes that carry the mark, belong to the child's group or session, or descend
 * from those. Where there is no /proc, none are found and the group has to do.
 */
export interface Search {
  /**
   * Looks once. `onNew` is called for each that was not found before, in the moment in which it is: one that
   * goes on in a child of its own all the time must be met while it lives.
   */
  look(): Sight;
}

/** What was seen in one look. */
export interface Sight {
  readonly pids: readonly number[];
  /** Whether all could be looked at. Somebody may have died just before. */
  readonly isWhole: boolean;
}

/** Makes a search. It remembers whom it has met, so that only the first look reads about everybody. */
export function createSearch(mark: string, leader: number, onNew: (pid: number) => void = () => {}): Search {
  const ours = new Map<number, string>(); // with the time of their start: numbers are used again
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
      // The newest first: it may be the one that will not live long.
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
          // One that is about to become another program has no environment for a moment.
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

/** What is known of a process. */
interface Relative {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly start: string;
  /** Whether it is a part of the kernel. */
  readonly isKernel: boolean;
}

/** All others. */
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

/** Null for one that is gone, or ending, or dead and not buried. */
function readRelative(pid: number): Relative | null {
  const stat = read(`/proc/${pid}/stat`) ?? "";
  // "pid (any text) state parent group session …": the text may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  if (parent === undefined || state === "Z" || state === "X") return null;
  const hasMemory = fields[20] !== "0";
  const isKernel = !hasMemory && group === "0";
  // One that is ending has given its memory back, and with it its environment.
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

/** Null where it is not ours to read. */
function readEnvironment(pid: number): string | null {
  return read(`/proc/${pid}/environ`);
}

/** Empty where it is gone meanwhile, null where it is somebody else's. */
function read(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "EACCES" || code === "EPERM" ? null : "";
  }
}
