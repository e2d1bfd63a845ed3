import { setTimeout as delay } from "node:timers/promises";
import type { Measure } from "../measure.ts";
import { callInTurn } from "../messages.ts";
import { between, hasWatchdog, privateBytes } from "../processes.ts";

/** The private memory of all processes between the driver and the server, after many calls. */
export const memory: Measure = {
  name: "memory",
  variants: ["cat", "pipe", "parse", "fairlead", "filter"],
  async round(stage, note) {
    await stage.inTurn(stage.variants, async (variant) => {
      const peer = await stage.open(variant);
      note("at start", variant, privateBytes(between(peer.pid)) / 2 ** 20);
      await callInTurn(peer, CALLS);
      await delay(50);
      const pids = between(peer.pid);
      note("private", variant, privateBytes(pids) / 2 ** 20);
      if (variant === "fairlead" && !hasWatchdog(pids))
        throw new Error("the watchdog is not among the processes found");
      await peer.close();
    });
  },
};

const CALLS = 10_000;
