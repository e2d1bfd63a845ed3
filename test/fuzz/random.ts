import { isFull } from "../support/runs.ts";

/** Chance that can be repeated: the same seed, the same throws. */
export interface Random {
  /** A whole number from 0 up to, not including, `below`. */
  below(below: number): number;
  /** One of them; undefined where there are none. */
  pick<T>(of: readonly T[]): T;
  chance(share: number): boolean;
}

/** Makes one (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = state;
    word = Math.imul(word ^ (word >>> 15), word | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return (word ^ (word >>> 14)) >>> 0;
  }
  const below = (limit: number): number => Math.floor((next() / 2 ** 32) * limit);
  return {
    below,
    pick: (of) => of[below(of.length)],
    chance: (share) => next() < share * 2 ** 32,
  };
}

/**
 * The seed of a test. In `npm test` it is always the same one, so that a change is not blamed for what another seed would
 * have found before it; `npm run test:full` and `npm run fuzz` look further.
 */
export function testSeed(): number {
  return isFull || process.env["FUZZ_SEED"] !== undefined ? chooseSeed() : 1;
}

/** The seed in FUZZ_SEED, or one from the clock. */
export function chooseSeed(): number {
  const given = process.env["FUZZ_SEED"];
  return given === undefined ? Date.now() >>> 0 : Number(given) >>> 0;
}
