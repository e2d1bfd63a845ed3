import type { Measure, Stage } from "../measure.ts";
import { callInTurn } from "../messages.ts";
import type { Peer } from "../peer.ts";
import { between, processorTime } from "../processes.ts";
import { median, quantile } from "../statistics.ts";
import type { Variant } from "../variants.ts";

/**
 * One call at a time: how long a client waits for a response. All variants run side by side and take turns in small
 * blocks.
 */
export const latency: Measure = {
  name: "latency",
  variants: ["direct", "cat", "pipe", "parse", "fairlead", "filter"],
  async round(stage, note) {
    await stage.withAll(async (peers) => {
      await stage.inTurn(peers, async ([variant, peer]) => {
        note("cold", variant, median([...(await callInTurn(peer, COLD_CALLS))]));
      });
      await warmUp(stage, peers);
      const times = new Map([...peers.keys()].map((variant) => [variant, [] as number[]]));
      const added = new Map([...peers].map(([variant, peer]) => [variant, between(peer.pid)]));
      const before = new Map([...added].map(([variant, pids]) => [variant, processorTime(pids)]));
      for (let block = 0; block < BLOCKS; block++) {
        await stage.inTurn(peers, async ([variant, peer]) => {
          // After a pause the first calls find sleeping processes and caches full of other data.
          times.get(variant)?.push(...(await callInTurn(peer, SETTLE + BLOCK)).subarray(SETTLE));
        });
      }
      for (const [variant, values] of times) {
        note("p50", variant, median(values));
        note("p99", variant, quantile(values, 0.99));
        const spent = processorTime(added.get(variant) ?? []) - (before.get(variant) ?? 0);
        note("processor", variant, spent / 1000 / (BLOCKS * (SETTLE + BLOCK)));
      }
    });
  },
};

/** Makes so many calls to every variant that V8 has compiled the hot code. */
export async function warmUp(stage: Stage, peers: ReadonlyMap<Variant, Peer>): Promise<void> {
  for (let part = 0; part < WARM_PARTS; part++) {
    await stage.inTurn(peers.values(), async (peer) => {
      await callInTurn(peer, WARM_CALLS / WARM_PARTS);
    });
  }
}

/** The number of calls before measuring, for each variant in each round. */
const WARM_CALLS = 3000;
const WARM_PARTS = 3;
const COLD_CALLS = 100;
const BLOCKS = 12;
const BLOCK = 150;
const SETTLE = 10;
