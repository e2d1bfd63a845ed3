import type { Pool } from "./pool.ts";

/** Notices that a server is gone while there are no requests. */
export interface Watch {
  /** Checks at once, because something went wrong. */
  suspect(): void;
  /** Whether the server can still be reached. Called after a stream broke. */
  check(): Promise<boolean>;
  readonly isThere: boolean;
  stop(): void;
}

/** How often to check. Twice within the two seconds in which a loss must be noticed. */
const EVERY_MS = 900;

/** Watches a server by opening a connection now and then. Reports when it is gone and when it is back. */
export function watchServer(pool: Pool, onChange: (isThere: boolean) => void): Watch {
  let isThere = true;
  let isLooking = false;
  let isStopped = false;

  async function look(): Promise<void> {
    if (isLooking || isStopped) return;
    isLooking = true;
    note(await pool.probe());
    isLooking = false;
  }

  function note(found: boolean): boolean {
    const wasThere = isThere;
    isThere = found;
    if (!isStopped && wasThere !== isThere) onChange(isThere);
    return found;
  }

  const timer = setInterval(() => void look(), EVERY_MS).unref();
  return {
    suspect: () => void look(),
    check: async () => note(await pool.probe(true)),
    get isThere() {
      return isThere;
    },
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
