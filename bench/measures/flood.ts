import type { Measure } from "../measure.ts";
import { between, processorTime } from "../processes.ts";
import { composeCount, nextId, NOTIFICATION } from "../messages.ts";

/**
 * Notifications in one direction, as fast as they are read, in new processes: until the server reports that it has all
 * of them.
 */
export const flood: Measure = {
  name: "flood",
  variants: ["direct", "cat", "pipe", "parse", "fairlead", "filter"],
  async round(stage, note) {
    const block = Buffer.from(NOTIFICATION.repeat(BLOCK));
    await stage.inTurn(stage.variants, async (variant) => {
      const peer = await stage.open(variant);
      const added = between(peer.pid);
      const before = processorTime(added);
      const began = performance.now();
      for (let sent = 0; sent < NOTIFICATIONS; sent += BLOCK) await peer.tell(block);
      await peer.ask(composeCount(nextId()));
      note("time", variant, performance.now() - began);
      note("processor", variant, (processorTime(added) - before) / 1e6);
      if (!peer.last.includes(`"text":"${NOTIFICATIONS}"`)) throw new Error(`${variant} lost notifications`);
      await peer.close();
    });
  },
};

const NOTIFICATIONS = 300_000;
const BLOCK = 1000;
