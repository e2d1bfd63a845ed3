import { Unjudgeable } from "./unjudgeable.ts";

/**
 * What judging one message has cost so far, in steps. Everything that is judged of a message shares it: all rules, the
 * messages inside of it, the elements of a list. Steps and not time, so that a message always gets the same verdict,
 * however busy the machine is.
 */
export interface Work {
  steps: number;
}

/**
 * How many steps may be spent on one message. A step is what takes ten nanoseconds at worst, such as one instruction of a
 * pattern on one character.
 */
export const MAX_WORK_PER_MESSAGE = 64 * 2 ** 20;

/** Begins to count. */
export function beginWork(): Work {
  return { steps: 0 };
}

/** Spends steps. Throws where the message has none left: what is left to be done for it is not done. */
export function spend(work: Work, steps: number): void {
  work.steps += steps;
  if (work.steps > MAX_WORK_PER_MESSAGE) throw new Unjudgeable(TOO_MUCH_WORK);
}

const TOO_MUCH_WORK = `it takes more than ${MAX_WORK_PER_MESSAGE} steps of work; send or ask for less at a time`;

/** What it costs to walk over bytes that have been validated, past keys and values. */
export function walkSteps(bytes: number): number {
  return bytes >> 2;
}
