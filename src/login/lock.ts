import { type LockOptions, takeLock } from "../record/file-lock.ts";

/**
 * Runs work that only one process may do at a time; other processes wait for it. If the lock is not free in time, the
 * work is done all the same: two logins are better than none.
 */
export async function withLock<T>(file: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const release = await takeLock(file, options);
  try {
    return await work();
  } finally {
    release?.();
  }
}
