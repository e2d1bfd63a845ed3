import { describe, expect } from "vitest";
import { talkInNewEra, talkInOldEra } from "../support/conversations.ts";
import {
  expectSameDrive,
  expectSameTalk,
  linesOf,
  MODERN,
  type Scene,
  scene,
  SDK_V1,
  SDK_V2,
  SDK_V2_AUTO,
  SDK_V2_PINNED,
  type SdkPeer,
  type Spoken,
} from "../support/peers.ts";

describe(`${MODERN.title}, no filter`, () => {
  scene("in 2026-07-28, everything it has: the same bytes with Fairlead as without", async (stage) => {
    const transcript = await expectSameTalk(stage, MODERN, talkInNewEra);
    const heard = linesOf(transcript).map((line) => JSON.parse(line) as Spoken);
    expect(heard.filter(({ result }) => result?.["resultType"] === "input_required").length).toBe(2);
    expect(heard.filter(({ method }) => method === "notifications/tools/list_changed").length).toBe(1);
  });

  scene("in the older era, where the same questions are requests of the server: the same", async (stage) => {
    await expectSameTalk(stage, MODERN, talkInOldEra);
  });

  for (const client of [SDK_V1, SDK_V2, SDK_V2_AUTO, SDK_V2_PINNED]) {
    scene(`the same with ${client.title}`, async (stage) => {
      await expectSameDrive(stage, MODERN, (command) => drive(stage, client, command));
    });
  }
});

async function drive(stage: Scene, peer: SdkPeer, command: readonly string[]): Promise<void> {
  const asked: string[] = [];
  const answer = (result: object) => (request: Spoken) => {
    asked.push(request.method ?? "");
    return { ...result };
  };
  const client = await peer.connect(stage, command, {
    capabilities: { roots: {}, sampling: {}, elicitation: {} },
    answers: {
      "roots/list": answer({ roots: [] }),
      "sampling/createMessage": answer({ role: "assistant", model: "m", content: { type: "text", text: "ä" } }),
      "elicitation/create": answer({ action: "accept", content: { sure: true } }),
    },
  });
  expect(client.getNegotiatedProtocolVersion?.() ?? peer.revision).toBe(peer.revision);
  await client.listTools();
  await client.call("echo", { message: "ä\u2028" });
  await client.call("weather", { city: "Åbo" });
  await client.call("confirm");
  expect(asked).toEqual(["elicitation/create", "sampling/createMessage", "roots/list"]);
  await client.call("slow", { steps: 3, pause: 30 }, { onprogress: () => {} });
  await client.listResources();
  await client.readResource({ uri: "file:///readme.md" });
  await client.getPrompt({ name: "greet", arguments: { who: "you" } });
  await client.close();
}
