import type { Maybe } from "../../store/maybe.ts";
import { failBy, type Walk } from "./walk.ts";

/** The signal that aborts when the decision is not needed any more. */
export function signalOf(walk: Walk): AbortSignal {
  walk.abort ??= new AbortController();
  return walk.abort.signal;
}

/** Waits for something within the timeout of the chain. Resolves to undefined if it times out or fails. */
export async function waitFor<Value>(
  walk: Walk,
  rule: string,
  begin: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await inTime(walk, begin);
  } catch (error) {
    failBy(walk, rule, error);
    return undefined;
  }
}

/** The same for a value from a store. */
export async function fromStore<Value>(walk: Walk, answer: Maybe<Value>): Promise<Value | undefined> {
  return answer instanceof Promise ? waitFor(walk, STORE, () => answer) : answer;
}

/** The name under which a failure of the store is reported. */
export const STORE = "chain:store";

/** Waits for something within the timeout of the chain. Rejects on timeout. */
export async function inTime<Value>(walk: Walk, begin: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const left = walk.settings.timeoutMs + walk.delayedMs - (walk.services.now() - walk.since);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, left), LATE);
  });
  try {
    const value = await Promise.race([begin(signalOf(walk)), late]);
    if (value !== LATE) return value;
  } finally {
    clearTimeout(timer);
  }
  walk.abort?.abort();
  walk.abort = null; // later waits get a new signal
  throw new Error(`it took longer than ${walk.settings.timeoutMs} ms`);
}

const LATE = Symbol("late");

/** Calls `visit` for one after another. Returns a promise only if one of the calls does. */
export function inOrder(
  count: () => number,
  visit: (nth: number) => void | Promise<void>,
  from = 0,
): void | Promise<void> {
  for (let nth = from; nth < count(); nth++) {
    const wait = visit(nth);
    if (wait !== undefined) return wait.then(() => inOrder(count, visit, nth + 1));
  }
}

/** Calls `next` at once, or after the promise has resolved. */
export function proceed(wait: void | Promise<void>, next: () => void | Promise<void>): void | Promise<void> {
  return wait === undefined ? next() : afterwards(wait, next);
}

async function afterwards(wait: Promise<void>, next: () => void | Promise<void>): Promise<void> {
  await wait;
  await next();
}
