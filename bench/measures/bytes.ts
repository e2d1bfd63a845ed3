import type { Measure } from "../measure.ts";
import { median } from "../statistics.ts";
import { fetchBytes } from "./large.ts";

/** Responses from 1 kB to 10 MB: the cost of each byte beyond the cost of a small response. */
export const bytes: Measure = {
  name: "bytes",
  variants: ["direct", "cat", "pipe", "parse", "fairlead"],
  async round(stage, note) {
    await stage.withAll(async (peers) => {
      const times = new Map([...peers.keys()].map((variant) => [variant, SIZES.map(() => [] as number[])]));
      for (let turn = -1; turn < TURNS; turn++) {
        // All sizes in every turn, so that the value that is subtracted was measured at nearly the same time.
        for (const [nth, { size, calls }] of SIZES.entries()) {
          await stage.inTurn(peers, async ([variant, peer]) => {
            for (let call = 0; call < calls; call++) {
              const time = await fetchBytes(peer, size, "lines");
              if (turn >= 0) times.get(variant)?.[nth].push(time);
            }
          });
        }
      }
      for (const [variant, bySize] of times) {
        const fixed = median(bySize[0]);
        for (const [nth, { size, name }] of SIZES.entries()) {
          if (nth > 0) note(name, variant, ((median(bySize[nth]) - fixed) * 1e6) / (size - SIZES[0].size));
        }
      }
    });
  },
};

/** The sizes, with the fixed cost first; the last is just under the limit of 10 MiB. `calls` is the number per turn. */
export const SIZES = [
  { name: "fixed", size: 100, calls: 200 },
  { name: "1 kB", size: 1_000, calls: 200 },
  { name: "10 kB", size: 10_000, calls: 200 },
  { name: "100 kB", size: 100_000, calls: 20 },
  { name: "1 MB", size: 1_000_000, calls: 4 },
  { name: "10 MB", size: 10 * 1024 * 1024 - 1024, calls: 1 },
] as const;
const TURNS = 5;
