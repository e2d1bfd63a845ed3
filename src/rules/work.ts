import { Unjudgeable } from "./unjudgeable.ts";

/**
 * The cost of judging one message so far, in steps. All rules, the messages inside it and the elements of a list share
 * it. Cost is counted in steps instead of time, so that a message always gets the same verdict, however busy the
 * machine is.
 */
export interface Work {
  steps: number;
}

/**
 * The limit of steps for one message. A step takes ten nanoseconds at worst, like one instruction of a pattern on one
 * character.
 */
export const MAX_WORK_PER_MESSAGE = 64 * 2 ** 20;

/** Starts a new count. */
export function beginWork(): Work {
  return { steps: 0 };
}

/** Adds steps. Throws if the message exceeds its limit. */
export function spend(work: Work, steps: number): void {
  work.steps += steps;
  if (work.steps > MAX_WORK_PER_MESSAGE) throw new Unjudgeable(TOO_MUCH_WORK);
}

const TOO_MUCH_WORK = `it takes more than ${MAX_WORK_PER_MESSAGE} steps of work; send or ask for less at a time`;

/** The cost of walking over validated bytes, past keys and values. */
export function walkSteps(bytes: number): number {
  return bytes >> 2;
}
