import type { Measure } from "../../measure.ts";
import { median } from "../../statistics.ts";
import { openFirst } from "../client.ts";
import { findPort } from "../server.ts";
import type { HttpStage } from "../stage.ts";

/** HTTP on both sides with a running server: from starting the process to the first response to `tools/list`. */
export const start: Measure<HttpStage> = {
  name: "start",
  variants: ["direct", "nginx", "bare", "fairlead", "mcp-proxy"],
  async round(stage, note) {
    const times = new Map(stage.variants.map((variant) => [variant, [] as number[]]));
    for (let turn = 0; turn < TURNS; turn++) {
      await stage.inTurn(stage.variants, async (variant) => {
        const port = await findPort();
        const command = stage.command("http", variant, port);
        const began = performance.now();
        const server = await stage.start(command, port);
        await openFirst(port);
        times.get(variant)?.push(performance.now() - began);
        await server.close();
      });
    }
    for (const [variant, values] of times) note("time", variant, median(values));
  },
};

const TURNS = 2;
