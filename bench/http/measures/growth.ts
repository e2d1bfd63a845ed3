import type { Measure } from "../../measure.ts";
import { between, processorTime } from "../../processes.ts";
import { median } from "../../statistics.ts";
import { callAtOnce, callInTurn } from "../client.ts";
import { CONNECTIONS } from "../rates.ts";
import { type HttpStage, openSessions, type Served } from "../stage.ts";

/** HTTP on both sides: the cost of a call with a growing number of sessions, which are used in turn. */
export const growth: Measure<HttpStage> = {
  name: "growth",
  variants: ["fairlead"],
  async round(stage, note) {
    await stage.inTurn(stage.variants, async (variant) => {
      const served = new Map<number, Served>();
      await stage.inTurn(COUNTS, async (count) => {
        const server = await stage.open("http", variant);
        served.set(count, { server, sessions: await openSessions(server.port, count) });
      });
      for (let part = 0; part < WARM_PARTS; part++) {
        await stage.inTurn(served.values(), async ({ sessions }) => {
          // Opening a session makes V8 compile code too: a variant that has opened fewer sessions makes more calls.
          const instead = 2 * ((COUNTS.at(-1) ?? 0) - sessions.length);
          await callAtOnce(sessions, CONNECTIONS, (WARM_CALLS + instead) / WARM_PARTS);
        });
      }
      const times = new Map(COUNTS.map((count) => [count, [] as number[]]));
      const before = new Map([...served].map(([count, each]) => [count, spent(each)]));
      for (let block = 0; block < BLOCKS; block++) {
        await stage.inTurn(served, async ([count, { sessions }]) => {
          times
            .get(count)
            ?.push(...(await callInTurn(rotated(sessions, block * BLOCK), SETTLE + BLOCK)).subarray(SETTLE));
        });
      }
      for (const [count, each] of served) {
        note(nameCount(count), variant, median(times.get(count) ?? []));
        note(
          `${nameCount(count)}, processor`,
          variant,
          (spent(each) - (before.get(count) ?? 0)) / 1000 / (BLOCKS * (SETTLE + BLOCK)),
        );
        await each.server.close();
      }
    });
  },
};

function spent({ server }: Served): number {
  return processorTime(between(server.pid ?? 0));
}

/** The same sessions in rotated order: one block does not use all of a thousand sessions. */
function rotated<Thing>(things: readonly Thing[], by: number): Thing[] {
  const from = by % things.length;
  return [...things.slice(from), ...things.slice(0, from)];
}

/** The numbers of sessions. */
export const COUNTS: readonly number[] = [1, 10, 100, 1000];

/** The title of a number of sessions in the table. */
export function nameCount(count: number): string {
  return count === 1 ? "1 session" : `${count.toLocaleString("en")} sessions`;
}

const WARM_CALLS = 2000;
const WARM_PARTS = 2;
const BLOCKS = 6;
const BLOCK = 150;
const SETTLE = 10;
