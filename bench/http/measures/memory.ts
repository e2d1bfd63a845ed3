import { setTimeout as delay } from "node:timers/promises";
import type { Measure } from "../../measure.ts";
import { between, privateBytes } from "../../processes.ts";
import { callAtOnce } from "../client.ts";
import { CONNECTIONS } from "../rates.ts";
import { type HttpStage, openSessions } from "../stage.ts";

/** HTTP on both sides: the private memory of the processes between client and server, after many calls. */
export const memory: Measure<HttpStage> = {
  name: "memory",
  variants: ["nginx", "bare", "fairlead"],
  async round(stage, note) {
    await stage.inTurn(stage.variants, async (variant) => {
      const server = await stage.open("http", variant);
      await callAtOnce(await openSessions(server.port, CONNECTIONS), CONNECTIONS, CALLS);
      await delay(100);
      note("private", variant, privateBytes(between(server.pid ?? 0)) / 2 ** 20);
      await server.close();
    });
  },
};

const CALLS = 10_000;
