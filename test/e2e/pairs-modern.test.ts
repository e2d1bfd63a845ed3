import { describe, expect } from "vitest";
import { talkInNewEra, talkInOldEra } from "../support/conversations.ts";
import { converseAlone, type Lead, type Sides, type Transport, TRANSPORTS } from "../support/pairs.ts";
import { MODERN, type Scene, scene } from "../support/peers.ts";
import { expectFaithful, expectSameMessages, putBack } from "../support/transcripts.ts";

const MODERN_TRANSPORTS = ["stdio", "http"] as const;

describe(`${MODERN.title}, no filter`, () => {
  scene("2026-07-28, by every pair of transports: the same messages with Fairlead as without", async (stage) => {
    await compare(stage, MODERN_TRANSPORTS, talkInNewEra);
  });

  scene("2025-11-25, by every pair of transports: the same messages with Fairlead as without", async (stage) => {
    await compare(stage, TRANSPORTS, talkInOldEra);
  });
});

async function compare(stage: Scene, clients: readonly Transport[], lead: Lead): Promise<void> {
  await Promise.all(
    MODERN_TRANSPORTS.map(async (server) => {
      const ways = ["direct", ...clients] as const;
      const talks = ways.map((client) => converseAlone(stage, "modern", [client, server], lead));
      const [direct, ...through] = await Promise.all(talks);
      expect(direct.client.up.length).toBeGreaterThan(5);
      through.forEach((sides, index) => {
        const pair = `${clients[index]} → ${server}`;
        const isShared = lead === talkInNewEra && pair === "http → stdio";
        expectFaithful(pair, isShared ? putBack(sides) : lead === talkInNewEra ? withoutLeaving(sides) : sides);
        const [said, should] = [sides, direct].map((each) => withoutLeaving(each).client.up);
        expectSameMessages(`${pair}: what the client said`, said, should);
        expectSameMessages(`${pair}: what the client heard`, sides.client.down.flat(), direct.client.down.flat());
      });
    }),
  );
}

/** Without cancellations: since 2026-07-28 they are messages on stdio, and by HTTP the end of a stream. */
function withoutLeaving({ client, server }: Sides): Sides {
  return {
    client: { ...client, up: client.up.filter(isNoLeave) },
    server: { ...server, up: server.up.filter(isNoLeave) },
  };
}

const isNoLeave = (line: string): boolean => !line.includes('"method":"notifications/cancelled"');
