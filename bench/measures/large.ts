import type { Measure } from "../measure.ts";
import { composeCall, nextId } from "../messages.ts";
import type { Peer } from "../peer.ts";
import { median } from "../statistics.ts";

/** Responses of 8 MB in several shapes, from the request to the last byte. */
export const large: Measure = {
  name: "large",
  variants: ["direct", "cat", "pipe", "parse", "fairlead"],
  async round(stage, note) {
    await stage.withAll(async (peers) => {
      for (const shape of SHAPES) {
        const times = new Map([...peers.keys()].map((variant) => [variant, [] as number[]]));
        for (let turn = 0; turn < WARM + TURNS; turn++) {
          await stage.inTurn(peers, async ([variant, peer]) => {
            const time = await fetchBytes(peer, SIZE, shape);
            if (turn >= WARM) times.get(variant)?.push(time);
          });
        }
        for (const [variant, values] of times) note(shape, variant, median(values));
      }
    });
  },
};

/** Requests one response of a size and shape. Returns how long it took, in milliseconds. */
export async function fetchBytes(peer: Peer, size: number, shape: string): Promise<number> {
  const before = peer.heard;
  const began = performance.now();
  await peer.ask(composeCall(nextId(), size, shape));
  const time = performance.now() - began;
  const got = peer.heard - before;
  if (Math.abs(got - size) > 200) throw new Error(`${got} bytes instead of ${size}`);
  return time;
}

/** The shapes of a large response that the echo server supports. */
const SHAPES = ["string", "escaped", "rows", "unicode"] as const;
const SIZE = 8_000_000;
const WARM = 2;
const TURNS = 3;
