import type { Measure } from "../../measure.ts";
import { callAtOnce } from "../client.ts";
import { CONNECTIONS, noteRates } from "../rates.ts";
import type { HttpStage } from "../stage.ts";

/** HTTP clients of a stdio server: many connections and one session, so that every variant has one server. */
export const toStdio: Measure<HttpStage> = {
  name: "to-stdio",
  variants: ["bare", "fairlead", "mcp-proxy", "supergateway"],
  async round(stage, note) {
    await stage.withAll("to-stdio", 1, async (served) => {
      const takers = [...served].map(([variant, { server, sessions }]) => {
        const call = (count: number): Promise<number> => callAtOnce(sessions, CONNECTIONS, count);
        return [variant, { pid: server.pid, call }] as const;
      });
      await noteRates(stage, new Map(takers), note);
    });
  },
};
