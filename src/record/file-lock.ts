import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Author, describeAuthor, isRunning } from "./audit/author.ts";

/**
 * Waits until no other process is at work, and says so in a file until the function that is returned is called. Whoever
 * died at work does not count. Rejects where that takes too long, or where the file cannot be made.
 */
export async function takeTurn(file: string, withinMs = MAX_WAIT_MS): Promise<() => void> {
  const author = JSON.stringify(describeAuthor());
  for (const until = performance.now() + withinMs; ; await delay(POLL_MS)) {
    try {
      writeFileSync(file, author, { flag: "wx", mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
      if (isAbandoned(file)) bury(file);
      else if (performance.now() > until) throw new Error(`${file} says that somebody else is at work`, { cause });
    }
  }
}

const POLL_MS = 20;
const MAX_WAIT_MS = 10_000;
/** Nobody takes so long between making the file and saying in it who they are. */
const NAMELESS_MS = 2000;

function isAbandoned(file: string): boolean {
  try {
    const silentMs = Date.now() - statSync(file).mtimeMs;
    const author = readAuthor(file);
    return author === null ? silentMs > NAMELESS_MS : !isRunning(author, silentMs);
  } catch {
    return false; // gone meanwhile
  }
}

/** Null where it does not say, or not yet. */
function readAuthor(file: string): Author | null {
  const text = readFileSync(file, "utf8");
  try {
    const { pid, start, place } = JSON.parse(text) as Author;
    return Number.isSafeInteger(pid) && pid > 0 ? { pid, start, place } : null;
  } catch {
    return null;
  }
}

/** Takes an abandoned file away. Somebody else may have done so and made a new one since: then that one goes back. */
function bury(file: string): void {
  const aside = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    renameSync(file, aside);
    if (!isAbandoned(aside)) linkSync(aside, file);
  } catch {
    // Somebody else was quicker.
  }
  rmSync(aside, { force: true });
}
