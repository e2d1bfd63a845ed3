import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { converse, steady } from "../support/conversations.ts";
import {
  call,
  EVERYTHING,
  expectSameBytes,
  expectSameDrive,
  expectSameLines,
  expectSameTalk,
  hold,
  initialize,
  linesOf,
  type Scene,
  scene,
  SDK_V1,
  SDK_V2,
  type SdkClient,
  type SdkPeer,
  talkTo,
  toolsIn,
} from "../support/peers.ts";

describe(`${EVERYTHING.title}, no filter`, () => {
  scene("a conversation about all it has: the same bytes with Fairlead as without", async (stage) => {
    const transcript = await expectSameTalk(stage, EVERYTHING, converse, { steady });
    expect(linesOf(transcript).length).toBeGreaterThan(60);
  });

  scene("the same conversation with a filter that hides one tool: only lists differ", async (stage) => {
    const { sent, received } = await hold(stage, stage.fairlead(EVERYTHING, "--deny", "^get-env$"), converse);
    const [tape] = stage.tapes("server");
    expectSameLines("what the client got", linesOf(received).filter(isOther), linesOf(tape.down).filter(isOther));
    expectSameLines("what the server got", linesOf(tape.up).filter(isOther), linesOf(sent).filter(isOther));
    const lists = linesOf(received).filter((line) => line.includes('"tools":['));
    expect(lists.length).toBe(2);
    for (const line of lists) {
      const own = linesOf(tape.down).find((other) => other.includes('"name":"get-roots-list"')) ?? "";
      const shown = toolsIn(own).filter((entry) => !entry.startsWith('{"name":"get-env"'));
      expectSameLines("the tools", toolsIn(line), shown);
    }
  });

  for (const peer of [SDK_V1, SDK_V2]) {
    scene(`the same with ${peer.title}`, async (stage) => {
      await expectSameDrive(stage, EVERYTHING, (command) => drive(stage, peer, command), { steady });
    });
  }

  scene("many requests at once, in one write and in crumbs: nothing is lost, added or changed", async (stage) => {
    const talk = talkTo(stage, stage.fairlead(EVERYTHING));
    await talk.ask(initialize());
    const calls = Array.from({ length: 200 }, (_, id) => call(id, "echo", { message: `${id} ${"ä€😀".repeat(id)}` }));
    talk.write(calls.slice(0, 100).join("\n"));
    talk.write("\n");
    const crumbs = `${calls.slice(100).join("\n")}\n`;
    for (let at = 0; at < crumbs.length; at += 997) talk.write(crumbs.slice(at, at + 997));
    for (let id = 0; id < 200; id++) await talk.hear((message) => message.id === id);
    const { sent, received } = await talk.end();
    const [server] = stage.tapes("server");
    expectSameBytes("what the server got", server.up, sent);
    expectSameBytes("what the client got", received, server.down);
  });

  scene(`it does not end when ${SDK_V1.title} closes, and is ended with Fairlead`, async (stage) => {
    const [node, fairlead, dashes] = stage.fairlead(EVERYTHING);
    const client = await SDK_V1.connect(stage, [node, fairlead, dashes, ...EVERYTHING.command]);
    await client.call("toggle-simulated-logging");
    await client.close();
  });

  scene("it does not end when its stdin does, and is ended, with all it started", async (stage) => {
    const [node, fairlead, dashes] = stage.fairlead(EVERYTHING);
    const talk = talkTo(stage, [node, fairlead, dashes, ...EVERYTHING.command]); // without a tee, which would end it
    await talk.ask(initialize());
    await talk.ask(call(1, "toggle-simulated-logging")); // every five seconds, for ever
    const before = Date.now();
    const { code } = await talk.end();
    expect(code).toBe(0);
    expect(Date.now() - before).toBeGreaterThan(4000); // so long it may take by itself
  });
});

/** Not about lists, nor about the tool that never was: that one is answered by Fairlead, like a hidden one. */
const isOther = (line: string): boolean => !/"tools":\[|"tools\/list"|no-such-tool/.test(line);

/** The same with a client that others wrote. */
async function drive(stage: Scene, peer: SdkPeer, command: readonly string[]): Promise<void> {
  const heard: string[] = [];
  const client: SdkClient = await peer.connect(stage, command, {
    capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} },
    answers: {
      "roots/list": () => ({ roots: [{ uri: "file:///tmp", name: "tmp" }] }),
      "sampling/createMessage": () => ({ model: "m", role: "assistant", content: { type: "text", text: "“yes”" } }),
      "elicitation/create": () => ({ action: "accept", content: { name: "Ada" } }),
    },
    notices: ["notifications/message"],
    onNotice: (method) => heard.push(method),
  });
  // It asks for the roots a third of a second after the start, and then says so.
  while (heard.length === 0) await delay(20);
  await client.ping();
  await client.listTools();
  await client.call("echo", { message: "ä\u2028" });
  await client.call("get-structured-content", { location: "New York" });
  await client.call("get-sum", { a: 1, b: 2 });
  await client.call("trigger-sampling-request", { prompt: "Hi" });
  await client.call("trigger-elicitation-request");
  let progress = 0;
  await client.call("trigger-long-running-operation", { duration: 0.2, steps: 4 }, { onprogress: () => progress++ });
  // The second SDK loses the last one where the result is right behind it, with Fairlead as without.
  expect(progress).toBeGreaterThanOrEqual(3);
  const abort = new AbortController();
  const slow = client.call("trigger-long-running-operation", { duration: 1, steps: 1 }, { signal: abort.signal });
  abort.abort("enough");
  await expect(slow).rejects.toThrow("enough");
  await client.listResources();
  await client.listResourceTemplates();
  await client.readResource({ uri: "demo://resource/static/document/features.md" });
  await expect(client.readResource({ uri: "demo://nowhere" })).rejects.toThrow("not found");
  await client.subscribeResource({ uri: "demo://resource/dynamic/text/1" });
  await client.listPrompts();
  await client.getPrompt({ name: "simple-prompt" });
  await client.complete({
    ref: { type: "ref/prompt", name: "completable-prompt" },
    argument: { name: "department", value: "" },
  });
  await client.setLoggingLevel("info");
  await client.close();
}
