import { setTimeout as delay } from "node:timers/promises";
import type { Measure } from "../../measure.ts";
import { privateBytes } from "../../processes.ts";
import { callAtOnce, openStream, type Session } from "../client.ts";
import { COLLECTING } from "../commands.ts";
import type { Connection } from "../connection.ts";
import { CONNECTIONS } from "../rates.ts";
import type { Server } from "../server.ts";
import { type HttpStage, openSessions } from "../stage.ts";

/** HTTP on both sides: the memory of an idle session, without and with a stream. */
export const sessions: Measure<HttpStage> = {
  name: "sessions",
  variants: ["fairlead"],
  async round(stage, note) {
    await stage.inTurn(stage.variants, async (variant) => {
      const server = await stage.open("http", variant + COLLECTING);
      const [busy] = await openSessions(server.port, 1);
      const before = await settle(server, busy);
      const idle = await openSessions(server.port, SESSIONS);
      note("idle", variant, ((await settle(server, busy)) - before) / 1000 / SESSIONS);
      const streams: Connection[] = [];
      for (const session of idle) streams.push(await openStream(session));
      note("streaming", variant, ((await settle(server, busy)) - before) / 1000 / SESSIONS);
      for (const stream of streams) stream.close();
      await server.close();
    });
  },
};

/** The private memory after some work and garbage collection: twice, because some memory is freed a turn later. */
async function settle({ pid }: Server, session: Session): Promise<number> {
  await callAtOnce([session], CONNECTIONS, CALLS);
  for (let time = 0; time < 2; time++) {
    process.kill(pid ?? 0, "SIGUSR2");
    await delay(COLLECTION_MS);
  }
  return privateBytes([pid ?? 0]);
}

const SESSIONS = 1000;
const CALLS = 3000;
const COLLECTION_MS = 300;
