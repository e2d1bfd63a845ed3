import type { Note } from "../measure.ts";
import { between, processorTime } from "../processes.ts";
import { median } from "../statistics.ts";
import { PEERS } from "./commands.ts";
import type { HttpStage } from "./stage.ts";

/** Something that can be called. */
export interface Taker {
  /** The process between client and server, with its descendants. Null if there is none. */
  readonly pid: number | null;
  /** Makes this many calls. Returns how long they took, in milliseconds. */
  call(count: number): Promise<number>;
}

/**
 * Records how many calls per second each variant answers, and what they cost the processes in between. The variants
 * take turns in blocks.
 */
export async function noteRates(stage: HttpStage, takers: ReadonlyMap<string, Taker>, note: Note): Promise<void> {
  const rates = new Map([...takers.keys()].map((variant) => [variant, [] as number[]]));
  for (let part = 0; part < WARM_PARTS; part++) {
    // The same for every variant: once V8 has compiled them, other proxies are up to twice as fast.
    await stage.inTurn(takers.values(), async ({ call }) => {
      await call(BLOCK);
    });
  }
  const added = new Map([...takers].map(([variant, { pid }]) => [variant, pid === null ? [] : between(pid)]));
  const before = new Map([...added].map(([variant, pids]) => [variant, processorTime(pids)]));
  for (let block = 0; block < BLOCKS; block++) {
    await stage.inTurn(takers, async ([variant, { call }]) => {
      const count = fewer(variant, BLOCK);
      rates.get(variant)?.push((count / (await call(count))) * 1000);
    });
  }
  for (const [variant, values] of rates) {
    note("rate", variant, median(values));
    if (takers.get(variant)?.pid === null) continue;
    const spent = processorTime(added.get(variant) ?? []) - (before.get(variant) ?? 0);
    note("processor", variant, spent / 1000 / (BLOCKS * fewer(variant, BLOCK)));
  }
}

/**
 * The number of measured calls: a tenth for packages that take many times as long, so that the run ends in reasonable
 * time.
 */
export function fewer(variant: string, calls: number): number {
  return PEERS.some((name) => name === variant) ? calls / 10 : calls;
}

/** How many calls are open at any time. */
export const CONNECTIONS = 32;
const WARM_PARTS = 2;
const BLOCKS = 4;
const BLOCK = 1600;
