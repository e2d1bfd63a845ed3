import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, statSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** How long others wait for a lock. */
export interface LockOptions {
  readonly timeoutMs: number;
  /** Somebody else has it, and we wait. Said once. */
  readonly onWait: () => void;
  /** A lock that was not touched for so long, while we watched, is nobody's. */
  readonly deadMs?: number;
}

/**
 * Does something that only one process may do at a time. Others wait until it is done, or until whoever does it gives no
 * sign of life any more. Without a lock in time it is done all the same: two logins are better than none.
 */
export async function withLock<T>(file: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const mark = randomBytes(12).toString("hex");
  const isOurs = await acquire(file, mark, options);
  const beat = setInterval(() => isOurs && touch(file, mark), (options.deadMs ?? DEAD_MS) * BEAT);
  beat.unref();
  const release = (): void => {
    if (isOurs && read(file) === mark) remove(file);
  };
  process.once("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    process.off("exit", release);
    release();
  }
}

const POLL_MS = 100;
const DEAD_MS = 6000;
/** Of the time after which a lock is dead, its owner lets this much pass between two signs of life. */
const BEAT = 1 / 6;

async function acquire(file: string, mark: string, options: LockOptions): Promise<boolean> {
  const { timeoutMs, onWait, deadMs = DEAD_MS } = options;
  let seen = "";
  let unchanged = 0; // counted in polls: a clock would run on while the machine sleeps
  for (let waited = 0; waited < timeoutMs; waited += POLL_MS) {
    if (create(file, mark)) return true;
    if (waited === POLL_MS * 5) onWait();
    const state = sign(file);
    unchanged = state === seen ? unchanged + POLL_MS : 0;
    seen = state;
    if (unchanged >= deadMs) {
      bury(file, read(file));
      unchanged = 0;
    }
    await delay(POLL_MS);
  }
  return false;
}

function create(file: string, mark: string): boolean {
  try {
    writeFileSync(file, mark, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Takes a dead lock away. Somebody else may have done so and made a new one since: then that one goes back. */
function bury(file: string, dead: string): void {
  const aside = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    renameSync(file, aside);
    if (read(aside) !== dead) linkSync(aside, file);
  } catch {
    // Somebody else was faster.
  }
  remove(aside);
}

function sign(file: string): string {
  try {
    const { mtimeMs, ino } = statSync(file);
    return `${ino} ${mtimeMs}`;
  } catch {
    return "";
  }
}

function touch(file: string, mark: string): void {
  try {
    const now = new Date();
    if (read(file) === mark) utimesSync(file, now, now);
  } catch {
    // It is gone; whoever took it has it now.
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Gone already.
  }
}
