import type { Measure } from "../measure.ts";
import { callInTurn, composeDenied, composeList } from "../messages.ts";
import { quantile } from "../statistics.ts";
import type { Variant } from "../variants.ts";
import { warmUp } from "./latency.ts";

/** Requests that the filter answers itself, compared with the bare server's time for the same requests. */
export const refused: Measure = {
  name: "refused",
  variants: ["direct", "pipe", "filter"],
  async round(stage, note) {
    await stage.withAll(async (peers) => {
      await warmUp(stage, peers);
      const times = new Map<string, Map<Variant, number[]>>(
        QUESTIONS.map(({ name }) => [name, new Map([...peers.keys()].map((variant) => [variant, []]))]),
      );
      for (let block = -WARM_BLOCKS; block < BLOCKS; block++) {
        for (const { name, compose } of QUESTIONS) {
          await stage.inTurn(peers, async ([variant, peer]) => {
            const values = (await callInTurn(peer, SETTLE + BLOCK, compose)).subarray(SETTLE);
            if (block >= 0)
              times
                .get(name)
                ?.get(variant)
                ?.push(...values);
            check(name, variant, peer.last);
          });
        }
      }
      for (const [name, byVariant] of times) {
        for (const [variant, values] of byVariant) {
          note(`${name} p50`, variant, quantile(values, 0.5) / 1000);
          note(`${name} p99`, variant, quantile(values, 0.99) / 1000);
        }
      }
    });
  },
};

/** The bare server answers both, because it hides nothing. */
function check(name: string, variant: Variant, answer: Buffer): void {
  if (variant === "filter" && name === "denied" && !answer.includes('"error":{"code":-32601')) {
    throw new Error(`not denied: ${answer.toString("latin1")}`);
  }
  if (variant === "filter" && name === "list" && answer.includes('"file_'))
    throw new Error("a list that hides nothing");
}

const QUESTIONS = [
  { name: "denied", compose: composeDenied },
  { name: "list", compose: composeList },
] as const;
const WARM_BLOCKS = 4;
const BLOCKS = 4;
const BLOCK = 150;
const SETTLE = 10;
