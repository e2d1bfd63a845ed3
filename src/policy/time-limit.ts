import { runInThisContext } from "node:vm";

/** Runs work that may never finish, and stops it at the time limit. Returns false if it was stopped. */
export function runLimited(work: () => void, limitMs: number): boolean {
  const host = globalThis as { [SLOT]?: () => void };
  host[SLOT] = work;
  try {
    // In Node only the timeout of `node:vm` can interrupt work in the same thread.
    runInThisContext(`globalThis[Symbol.for("${NAME}")]()`, { timeout: limitMs });
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    throw error;
  } finally {
    delete host[SLOT];
  }
}

const NAME = "fairlead.limited";
const SLOT = Symbol.for(NAME);
