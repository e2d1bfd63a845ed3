import type { Measure } from "../../measure.ts";
import { median } from "../../statistics.ts";
import { fetchBytes } from "../client.ts";
import { openConnection } from "../connection.ts";
import type { HttpStage } from "../stage.ts";

/** HTTP on both sides: responses of 1 MB, from the request to the last byte. */
export const large: Measure<HttpStage> = {
  name: "large",
  variants: ["direct", "nginx", "bare", "fairlead"],
  async round(stage, note) {
    await stage.withAll("http", 1, async (served) => {
      const times = new Map([...served.keys()].map((variant) => [variant, [] as number[]]));
      for (let turn = -WARM; turn < TURNS; turn++) {
        await stage.inTurn(served, async ([variant, { server, sessions }]) => {
          const connection = await openConnection(server.port);
          for (let call = 0; call < CALLS; call++) {
            const time = await fetchBytes(connection, sessions[0], SIZE);
            if (turn >= 0) times.get(variant)?.push(time);
          }
          connection.close();
        });
      }
      for (const [variant, values] of times) note("time", variant, median(values));
    });
  },
};

const SIZE = 1_000_000;
const WARM = 4;
const TURNS = 6;
const CALLS = 4;
