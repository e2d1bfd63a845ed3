import type { Measure } from "../../measure.ts";
import { callAtOnce } from "../client.ts";
import { CONNECTIONS, noteRates } from "../rates.ts";
import type { HttpStage } from "../stage.ts";

/** HTTP on both sides, many connections with a session each: how many calls are answered per second. */
export const load: Measure<HttpStage> = {
  name: "load",
  variants: ["direct", "nginx", "bare", "fairlead", "mcp-proxy"],
  async round(stage, note) {
    await stage.withAll("http", CONNECTIONS, async (served) => {
      const takers = [...served].map(([variant, { server, sessions }]) => {
        const call = (count: number): Promise<number> => callAtOnce(sessions, CONNECTIONS, count);
        return [variant, { pid: server.pid, call }] as const;
      });
      await noteRates(stage, new Map(takers), note);
    });
  },
};
