import type { Pool } from "./pool.ts";

/** Notices that a server is gone while nobody speaks to it. */
export interface Watch {
  /** Something went wrong: looks now. */
  suspect(): void;
  /** Something broke off: whether the server is still there. */
  check(): Promise<boolean>;
  readonly isThere: boolean;
  stop(): void;
}

/** How often we look. Twice within the two seconds in which a loss is to be noticed. */
const EVERY_MS = 900;

/** Looks after a server by opening a connection now and then. Tells when it is gone, and when it is back. */
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
