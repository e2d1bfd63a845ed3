import { describe, expect } from "vitest";
import {
  expectSameDrive,
  expectSameTalk,
  initialize,
  INITIALIZED,
  linesOf,
  META,
  MODERN,
  modernRequest,
  request,
  type Scene,
  scene,
  SDK_V1,
  SDK_V2,
  SDK_V2_AUTO,
  SDK_V2_PINNED,
  type SdkPeer,
  type Spoken,
  type Talk,
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

async function talkInNewEra(talk: Talk): Promise<void> {
  await talk.ask(modernRequest("server-discover-probe-1", "server/discover"));
  await talk.ask(modernRequest(0, "tools/list"));
  await talk.ask(modernRequest(1, "tools/list", { cursor: "3" }));
  await talk.ask(modernRequest(2, "tools/list", { cursor: "6" }));
  await talk.ask(call(3, "echo", { message: { "“": [1, null, "\u2028"] } }));
  await talk.ask(call(4, "weather", { city: "Åbo" }));
  await talk.ask(call(5, "fail"));
  await talk.ask(call(6, "no_such_tool"));
  await talk.ask(modernRequest(7, "resources/list"));
  await talk.ask(modernRequest(8, "resources/templates/list"));
  await talk.ask(modernRequest(9, "resources/read", { uri: "file:///readme.md" }));
  await talk.ask(modernRequest(10, "resources/read", { uri: "file:///none" }));
  await talk.ask(modernRequest(11, "prompts/list"));
  await talk.ask(modernRequest(12, "prompts/get", { name: "greet", arguments: { who: "“you”" } }));
  const ref = { type: "ref/resource", uri: "note:///{name}" };
  await talk.ask(modernRequest(13, "completion/complete", { ref, argument: { name: "name", value: "a" } }));
  await talk.ask(modernRequest(14, "initialize"));
  await talk.ask(
    modernRequest(15, "tools/call", { name: "slow", arguments: { steps: 3, pause: 30 } }, { progressToken: "p" }),
  );
  await cancelSlowly(talk);
  await answerInRounds(talk);
  await listen(talk);
}

/** It is stopped after its first step, a second before the next, and says no more. */
async function cancelSlowly(talk: Talk): Promise<void> {
  const params = { name: "slow", arguments: { steps: 2, pause: 1000 } };
  talk.write(`${modernRequest("slow", "tools/call", params, { progressToken: 0 })}\n`);
  await talk.hear(({ params: said }) => said?.["progressToken"] === 0 && said["progress"] === 1);
  talk.write(
    `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "slow" } })}\n`,
  );
}

/** Three requests for one call: what the server asks comes in its results, the answers go in the next request. */
async function answerInRounds(talk: Talk): Promise<void> {
  const name = "confirm";
  const first = await talk.ask(modernRequest(20, "tools/call", { name, arguments: {} }));
  const meta = JSON.stringify(META);
  const sure = '{"sure":{"action":"accept","content":{"sure":true}}}';
  const second = await talk.ask(
    `{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"confirm","arguments":{},` +
      `"requestState":${stateIn(first)},"inputResponses":${sure},"_meta":${meta}}}`,
  );
  const answers =
    '{"folders":{"roots":[]},"idea":{"role":"assistant","model":"m","content":{"type":"text","text":"\\u00e4"}}}';
  const third = await talk.ask(
    `{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"inputResponses": ${answers} ,"_meta":${meta},` +
      `"requestState":${stateIn(second)},"arguments":{},"name":"confirm"}}`,
  );
  expect(third).toContain('"complete"');
}

/** The state that has to come back, as it is spelled. */
function stateIn(line: string): string {
  return /"requestState":("(?:[^"\\]|\\.)*")/.exec(line)?.[1] ?? "";
}

async function listen(talk: Talk): Promise<void> {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["file:///readme.md"] };
  talk.write(`${modernRequest("listen", "subscriptions/listen", { notifications })}\n`);
  await talk.hear(({ method }) => method === "notifications/subscriptions/acknowledged");
  await talk.ask(call(30, "grow"));
  await talk.hear(({ method }) => method === "notifications/tools/list_changed");
  await talk.ask(call(31, "plain_1"));
  const params = { requestId: "listen", reason: "over" };
  talk.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })}\n`);
  await talk.ask(call(32, "echo", { message: "last" }));
}

async function talkInOldEra(talk: Talk): Promise<void> {
  await talk.ask(initialize({ sampling: {}, elicitation: {}, roots: {} }));
  talk.write(INITIALIZED);
  await talk.ask(request(1, "tools/list"));
  await talk.ask(request(2, "tools/list", { cursor: "3" }));
  talk.write(`${request(3, "tools/call", { name: "confirm", arguments: {} })}\n`);
  for (const [method, result] of [
    ["elicitation/create", '{"action":"accept","content":{"sure":false}}'],
    ["sampling/createMessage", '{"role":"assistant","model":"m","content":{"type":"text","text":"“x”"}}'],
    ["roots/list", '{"roots":[{"uri":"file:///tmp"}]}'],
  ] as const) {
    const asked = JSON.parse(await talk.hear((message) => message.method === method)) as Spoken;
    talk.write(`{"result":${result},"id":${JSON.stringify(asked.id)},"jsonrpc":"2.0"}\n`);
  }
  await talk.hear(({ id, method }) => id === 3 && method === undefined);
  await talk.ask(request(4, "tools/call", { name: "grow", arguments: {} }));
  await talk.hear(({ method }) => method === "notifications/tools/list_changed");
  await talk.ask(request(5, "logging/setLevel", { level: "debug" }));
}

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

function call(id: number, name: string, args: object = {}): string {
  return modernRequest(id, "tools/call", { name, arguments: args });
}
