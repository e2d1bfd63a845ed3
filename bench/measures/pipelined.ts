import type { Measure } from "../measure.ts";
import { callAhead } from "../messages.ts";
import { between, processorTime } from "../processes.ts";
import { median } from "../statistics.ts";
import type { Variant } from "../variants.ts";

/** Many open calls at once: how many are answered per second. */
export const pipelined: Measure = {
  name: "pipelined",
  variants: ["direct", "cat", "pipe", "parse", "fairlead", "filter"],
  async round(stage, note) {
    await stage.withAll(async (peers) => {
      for (const writes of ["single", "joined"] as const) {
        const rates = new Map([...peers.keys()].map((variant) => [variant, [] as number[]]));
        const added = new Map([...peers].map(([variant, peer]) => [variant, between(peer.pid)]));
        const before = new Map<Variant, number>();
        for (let block = -WARM_BLOCKS; block < BLOCKS; block++) {
          if (block === 0) for (const [variant, pids] of added) before.set(variant, processorTime(pids));
          await stage.inTurn(peers, async ([variant, peer]) => {
            const rate = (BLOCK / (await callAhead(peer, BLOCK, WINDOW, writes))) * 1000;
            if (block >= 0) rates.get(variant)?.push(rate);
          });
        }
        for (const [variant, values] of rates) {
          note(writes, variant, median(values));
          const spent = processorTime(added.get(variant) ?? []) - (before.get(variant) ?? 0);
          note(`${writes} processor`, variant, spent / 1000 / (BLOCKS * BLOCK));
        }
      }
    });
  },
};

const WINDOW = 100;
const WARM_BLOCKS = 2;
const BLOCKS = 5;
const BLOCK = 4000;
