import { setTimeout as delay } from "node:timers/promises";
import type { ChildServer } from "../link/child.ts";
import type { WorkMeter } from "../link/work.ts";
import type { Outlet } from "../relay/outlet.ts";

/** How long to wait for a server that runs as a child process. */
export interface PatienceOptions {
  /** The limit in milliseconds. */
  readonly limitMs: number;
  /** The limit while the server is idle; null if only `limitMs` counts. */
  readonly idleMs: number | null;
  readonly onProgress?: ((progress: StartProgress) => void) | undefined;
}

/** The progress of a server that is starting. */
export interface StartProgress {
  readonly elapsedMs: number;
  /**
   * Whether the server, or a process that it started, is working: it may be downloading. Null if that cannot be
   * measured.
   */
  readonly isWorking: boolean | null;
}

/** How often to check whether the server is working. */
const LOOK_MS = 1000;
/** How long a server may be silent if its activity cannot be measured. */
const UNSEEN_MS = 60_000;

/** Rejects when the server should not be waited for any longer. Never resolves. */
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

/** How long a server may take to exit after its stdin was closed. */
const CLOSED_MS = 500;

/**
 * Ends a server: closes its stdin, then sends SIGTERM to its group, then kills it. An installer that is killed at once
 * leaves half a package behind, which npx would take for a complete one from then on.
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
