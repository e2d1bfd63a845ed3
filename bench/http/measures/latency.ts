import type { Measure } from "../../measure.ts";
import { between, processorTime } from "../../processes.ts";
import { median, quantile } from "../../statistics.ts";
import { callInTurn } from "../client.ts";
import { fewer } from "../rates.ts";
import type { HttpStage } from "../stage.ts";

/** HTTP on both sides, one connection, one call at a time: how long a client waits for a response. */
export const latency: Measure<HttpStage> = {
  name: "latency",
  variants: ["direct", "nginx", "bare", "fairlead", "mcp-proxy"],
  async round(stage, note) {
    await stage.withAll("http", 1, async (served) => {
      for (let part = 0; part < WARM_PARTS; part++) {
        await stage.inTurn(served.values(), async ({ sessions }) => {
          await callInTurn(sessions, WARM_CALLS / WARM_PARTS);
        });
      }
      const times = new Map([...served.keys()].map((variant) => [variant, [] as number[]]));
      const added = new Map([...served].map(([variant, { server }]) => [variant, server.pid]));
      const spent = (variant: string): number => processorTime(between(added.get(variant) ?? 0));
      const before = new Map([...served.keys()].map((variant) => [variant, spent(variant)]));
      for (let block = 0; block < BLOCKS; block++) {
        await stage.inTurn(served, async ([variant, { sessions }]) => {
          // The first calls use a new connection, and caches full of other processes' data.
          times.get(variant)?.push(...(await callInTurn(sessions, SETTLE + fewer(variant, BLOCK))).subarray(SETTLE));
        });
      }
      for (const [variant, values] of times) {
        note("p50", variant, median(values));
        note("p99", variant, quantile(values, 0.99));
        if (added.get(variant) === null) continue;
        const calls = BLOCKS * (SETTLE + fewer(variant, BLOCK));
        note("processor", variant, (spent(variant) - (before.get(variant) ?? 0)) / 1000 / calls);
      }
    });
  },
};

const WARM_CALLS = 1200;
const WARM_PARTS = 3;
const BLOCKS = 6;
const BLOCK = 100;
const SETTLE = 10;
