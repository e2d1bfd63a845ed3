import { type LockOptions, takeLock } from "../record/file-lock.ts";

/**
 * Does something that only one process may do at a time. Others wait until it is done. Without the lock in time it is done
 * all the same: two logins are better than none.
 */
export async function withLock<T>(file: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const release = await takeLock(file, options);
  try {
    return await work();
  } finally {
    release?.();
  }
}
