import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Author, describeAuthor, isRunning } from "./audit/author.ts";

/** How long to wait for a lock. */
export interface LockOptions {
  readonly timeoutMs: number;
  /** Called once if another process has the lock and we have waited for a moment. */
  readonly onWait?: () => void;
  /** A lock that its owner has not touched for this long, while we watched, is abandoned. */
  readonly deadMs?: number;
}

/**
 * Waits until no other process has the lock, and takes it: the file names our process until the returned function is
 * called or the process exits. A lock is abandoned if its process is gone, or if it has not been touched for a while:
 * nothing more can be observed for a process on another machine, or if the system does not tell when a process started.
 * Resolves with null after `timeoutMs`. Rejects if the file cannot be created.
 */
export async function takeLock(file: string, options: LockOptions): Promise<(() => void) | null> {
  const { timeoutMs, onWait = () => {}, deadMs = DEAD_MS } = options;
  const mark = JSON.stringify({ ...describeAuthor(), mark: randomBytes(12).toString("hex") });
  let seen = "";
  let unchanged = 0; // counted in polls: a clock would run on while the machine sleeps
  for (let waited = 0; ; waited += POLL_MS) {
    if (create(file, mark)) return hold(file, mark, deadMs);
    if (waited >= timeoutMs) return null;
    if (waited === SHORT_WAIT_MS) onWait();
    const found = look(file);
    unchanged = found.state === seen ? unchanged + POLL_MS : 0;
    seen = found.state;
    if (unchanged >= deadMs || isAbandoned(found, deadMs)) {
      bury(file, found.text);
      unchanged = 0;
    }
    await delay(POLL_MS);
  }
}

const POLL_MS = 50;
const SHORT_WAIT_MS = 500;
const DEAD_MS = 6000;
/** How often an owner touches its lock, as a part of the time after which it is abandoned. */
const BEAT = 1 / 6;

function create(file: string, mark: string): boolean {
  try {
    writeFileSync(file, mark, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Touches our lock until it is released. If another process considered it abandoned and took it, that process keeps it.
 */
function hold(file: string, mark: string, deadMs: number): () => void {
  const beat = setInterval(() => touch(file, mark), deadMs * BEAT);
  beat.unref();
  const release = (): void => {
    clearInterval(beat);
    process.off("exit", release);
    if (look(file).text === mark) rmSync(file, { force: true });
  };
  process.once("exit", release);
  return release;
}

function touch(file: string, mark: string): void {
  try {
    const now = new Date();
    if (look(file).text === mark) utimesSync(file, now, now);
  } catch {
    // The lock was taken by another process.
  }
}

/** The state of a lock file. Empty if there is none. */
interface Found {
  readonly text: string;
  /** Changes when the file is touched, or replaced. */
  readonly state: string;
  readonly ageMs: number;
}

function look(file: string): Found {
  try {
    const { mtimeMs, ino } = statSync(file);
    return { text: readFileSync(file, "utf8"), state: `${ino} ${mtimeMs}`, ageMs: Date.now() - mtimeMs };
  } catch {
    return { text: "", state: "", ageMs: 0 };
  }
}

function isAbandoned({ text, ageMs }: Found, deadMs: number): boolean {
  const author = readAuthor(text);
  // The name of the owner is written right after the file is created. If the process cannot be checked, it is assumed
  // to be running.
  return author === null ? ageMs > deadMs : !isRunning(author, 0);
}

/** The process that a lock names; null if it does not name one, or not yet. */
function readAuthor(text: string): Author | null {
  try {
    const { pid, start, place } = JSON.parse(text) as Author;
    return Number.isSafeInteger(pid) && pid > 0 ? { pid, start, place } : null;
  } catch {
    return null;
  }
}

/** Removes an abandoned lock. If another process did so first and made a new one, that one is put back. */
function bury(file: string, dead: string): void {
  const aside = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    renameSync(file, aside);
    if (look(aside).text !== dead) linkSync(aside, file);
  } catch {
    // Another process was faster.
  }
  rmSync(aside, { force: true });
}
