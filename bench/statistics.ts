/** A median over rounds, with its 95 % confidence interval. */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The median of some values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The quantile of some values, with linear interpolation. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

/** The median of one value per round, with its bootstrap interval. */
export function estimate(values: readonly number[]): Estimate {
  const random = createRandom(1);
  const medians = Array.from({ length: RESAMPLES }, () =>
    median(values.map(() => values[Math.floor(random() * values.length)])),
  );
  return { median: median(values), low: quantile(medians, 0.025), high: quantile(medians, 0.975) };
}

const RESAMPLES = 4000;

/** A pseudo-random generator of numbers from 0 to 1 with a seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A shuffled copy. */
export function shuffled<Thing>(things: readonly Thing[], random: () => number): Thing[] {
  const order = [...things];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
