import { setTimeout as delay } from "node:timers/promises";
import type { ChildServer } from "../link/child.ts";
import type { WorkMeter } from "../link/work.ts";
import type { Outlet } from "../relay/outlet.ts";

/** How long a server that is a process is waited for. */
export interface PatienceOptions {
  /** How long at the most, in milliseconds. */
  readonly limitMs: number;
  /** How long while it does nothing; null where only the limit counts. */
  readonly idleMs: number | null;
  readonly onProgress?: ((progress: StartProgress) => void) | undefined;
}

/** The progress of a server that is starting. */
export interface StartProgress {
  readonly elapsedMs: number;
  /** Whether the server, or a process that it started, is working: it may be downloading. Null if that cannot be measured. */
  readonly isWorking: boolean | null;
}

/** How often somebody looks whether the server is at work. */
const LOOK_MS = 1000;
/** How long a server may do nothing where nobody can see whether it does anything. */
const UNSEEN_MS = 60_000;

/** Waits for a server as long as that makes sense, and rejects then. Never resolves. */
export async function waitWhileWorking(
  meter: WorkMeter,
  { limitMs, idleMs, onProgress }: PatienceOptions,
  signal: AbortSignal,
): Promise<never> {
  const start = performance.now();
  let lastWork = start;
  for (;;) {
    const left = limitMs - (performance.now() - start);
    if (left <= 0) throw new Error(`no answer within ${limitMs} ms`);
    await delay(Math.min(LOOK_MS, left), undefined, { signal });
    const state = meter.look();
    const now = performance.now();
    if (state === "working") lastWork = now;
    const mayRest = idleMs === null ? Infinity : state === "unknown" ? Math.max(idleMs, UNSEEN_MS) : idleMs;
    if (now - lastWork >= mayRest) throw new Error(`no answer, and no activity, within ${mayRest} ms`);
    onProgress?.({ elapsedMs: now - start, isWorking: state === "unknown" ? null : state === "working" });
  }
}

/** How long a server may take to end once its stdin is closed. */
const CLOSED_MS = 500;

/**
 * Ends a server: closes its stdin, then asks it and all of its group to end, then kills them. An installer that is killed at
 * once leaves half a package behind, and npx takes that for a whole one ever after.
 */
export async function endPolitely(child: ChildServer, toServer: Outlet, graceMs: number): Promise<void> {
  toServer.end();
  await Promise.race([child.ended, delay(CLOSED_MS)]);
  if (child.hasCompany) {
    child.terminate();
    for (const until = Date.now() + graceMs; child.hasCompany && Date.now() < until;) await delay(20);
  }
  child.kill();
  child.release();
}
