import { describe, expect } from "vitest";
import { converse, steady } from "../support/conversations.ts";
import { converseAlone, together, TRANSPORTS } from "../support/pairs.ts";
import { EVERYTHING, scene } from "../support/peers.ts";
import { escapeBreaks, expectFaithful, expectSameMessages } from "../support/transcripts.ts";

describe(`${EVERYTHING.title}, 2025-11-25, no filter`, () => {
  scene("by every pair of transports: the same messages with Fairlead as without", async (stage) => {
    // All at once: most of their time they wait.
    const lead = together(TRANSPORTS.length * (TRANSPORTS.length + 1), converse);
    await Promise.all(
      TRANSPORTS.map(async (server) => {
        const ways = ["direct", ...TRANSPORTS] as const;
        const talks = ways.map((client) => converseAlone(stage, "everything", [client, server], lead));
        const [direct, ...through] = await Promise.all(talks);
        expect(direct.client.up.length).toBeGreaterThan(40);
        through.forEach((sides, index) => {
          const pair = `${TRANSPORTS[index]} → ${server}`;
          const heard = sides.client.down.flat();
          expectFaithful(pair, sides);
          expectSameMessages(`${pair}: what the client said`, sides.client.up, direct.client.up, steadyText);
          expectSameMessages(`${pair}: what the client heard`, heard, direct.client.down.flat(), (text) =>
            escapeBreaks(steadyText(text)),
          );
        });
      }),
    );
  });
});

const steadyText = (text: string): string => steady(Buffer.from(text, "latin1")).toString("latin1");
