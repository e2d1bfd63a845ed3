import type { Measure } from "../measure.ts";
import { composeList, nextId } from "../messages.ts";
import { median } from "../statistics.ts";

/** From starting the processes to the first response to `tools/list`. */
export const start: Measure = {
  name: "start",
  variants: ["direct", "cat", "pipe", "parse", "fairlead", "filter"],
  async round(stage, note) {
    const times = new Map(stage.variants.map((variant) => [variant, [] as number[]]));
    for (let turn = 0; turn < TURNS; turn++) {
      await stage.inTurn(stage.variants, async (variant) => {
        const began = performance.now();
        const peer = stage.start(variant);
        await peer.ask(composeList(nextId()));
        times.get(variant)?.push(performance.now() - began);
        await peer.close();
      });
    }
    for (const [variant, values] of times) note("time", variant, median(values));
  },
};

const TURNS = 3;
