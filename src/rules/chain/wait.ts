import type { Maybe } from "../../store/maybe.ts";
import { failBy, type Walk } from "./walk.ts";

/** Says when what is waited for is not wanted any more. */
export function signalOf(walk: Walk): AbortSignal {
  walk.abort ??= new AbortController();
  return walk.abort.signal;
}

/** Waits for something, but no longer than the chain has. Undefined where that took too long, or failed. */
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

/** The same for what a store answers. */
export async function fromStore<Value>(walk: Walk, answer: Maybe<Value>): Promise<Value | undefined> {
  return answer instanceof Promise ? waitFor(walk, STORE, () => answer) : answer;
}

/** The name under which it is written down that the store did not answer. */
export const STORE = "chain:store";

/** Waits for something, but no longer than the chain has. Rejects where that takes too long. */
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
  walk.abort = null; // what is waited for later has not been given up
  throw new Error(`it took longer than ${walk.settings.timeoutMs} ms`);
}

const LATE = Symbol("late");

/** Visits one after the other. No promise is made unless one of them is waited for. */
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

/** Goes on at once, or when something has been waited for. */
export function proceed(wait: void | Promise<void>, next: () => void | Promise<void>): void | Promise<void> {
  return wait === undefined ? next() : afterwards(wait, next);
}

async function afterwards(wait: Promise<void>, next: () => void | Promise<void>): Promise<void> {
  await wait;
  await next();
}
