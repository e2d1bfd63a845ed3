import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import {
  call,
  EVERYTHING,
  expectSameBytes,
  expectSameDrive,
  expectSameLines,
  expectSameTalk,
  hold,
  initialize,
  INITIALIZED,
  linesOf,
  request,
  type Scene,
  scene,
  SDK_V1,
  SDK_V2,
  type SdkClient,
  type SdkPeer,
  type Talk,
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

const CAPABILITIES = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
};

async function converse(talk: Talk): Promise<void> {
  await talk.ask(initialize(CAPABILITIES));
  talk.write(INITIALIZED);
  await answer(talk, "roots/list", '{"roots":[{"uri":"file:///tmp/a%20b","name":"ä"}]}');
  await hearMethod(talk, "notifications/message");
  await talk.ask('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  await talk.ask('{"jsonrpc":"2.0","id":2,"method":"tools/list"}');
  await talk.ask('{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{}}');
  await callTools(talk);
  await readResources(talk);
  await getPrompts(talk);
  await answerServer(talk);
  await runTasks(talk);
}

async function callTools(talk: Talk): Promise<void> {
  await talk.ask(call(10, "echo", { message: "<b>\u2028 “ä” 😀 \\u0041 \0</b>" }));
  await talk.ask(call("11", "get-annotated-message", { messageType: "error", includeImage: true }));
  await talk.ask(call(12, "get-tiny-image"));
  await talk.ask(call(13, "get-structured-content", { location: "Chicago" }));
  await talk.ask(call(14, "get-sum", { a: 0.1, b: 1e300 }));
  await talk.ask(call(15, "get-sum", { a: "no number" }));
  await talk.ask(call(16, "no-such-tool"));
  await talk.ask(call(17, "get-resource-links", { count: 10 }));
  await talk.ask(call(18, "get-resource-reference", { resourceType: "Text", resourceId: 3 }));
  await talk.ask(
    call(19, "gzip-file-as-resource", { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" }),
  );
  await talk.ask('{"jsonrpc":"2.0","id":20,"method":"no/such/method","params":{"a":[1,{"b":null}]}}');
  await talk.ask(count(21, 0.1, "p/1"));
  // Cancelled after the first step. The tool goes on counting all the same, but its answer does not come.
  talk.write(`${count(22, 2, 0)}\n`);
  await talk.hear(({ params }) => params?.["progressToken"] === 0 && params["progress"] === 1);
  talk.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":22,"reason":"enough"}}\n');
  await talk.hear(({ params }) => params?.["progressToken"] === 0 && params["progress"] === 2);
}

function count(id: number, duration: number, progressToken: number | string): string {
  const args = { duration, steps: 2 };
  return request(id, "tools/call", {
    name: "trigger-long-running-operation",
    arguments: args,
    _meta: { progressToken },
  });
}

async function readResources(talk: Talk): Promise<void> {
  await talk.ask('{"jsonrpc":"2.0","id":30,"method":"resources/list"}');
  await talk.ask('{"jsonrpc":"2.0","id":31,"method":"resources/templates/list","params":{"_meta":{}}}');
  await talk.ask(request(32, "resources/read", { uri: "demo://resource/static/document/features.md" }));
  await talk.ask(request(33, "resources/read", { uri: "demo://resource/dynamic/text/7" }));
  await talk.ask(request(34, "resources/read", { uri: "demo://nowhere" }));
  await talk.ask(request(35, "resources/subscribe", { uri: "demo://resource/dynamic/text/7" }));
  await talk.ask(call(36, "toggle-subscriber-updates"));
  await hearMethod(talk, "notifications/resources/updated");
  await talk.ask(call(37, "toggle-subscriber-updates"));
  await talk.ask(request(38, "resources/unsubscribe", { uri: "demo://resource/dynamic/text/7" }));
}

async function getPrompts(talk: Talk): Promise<void> {
  await talk.ask('{"jsonrpc":"2.0","id":40,"method":"prompts/list"}');
  await talk.ask(request(41, "prompts/get", { name: "args-prompt", arguments: { city: "Åbo", state: '"' } }));
  await talk.ask(
    request(42, "prompts/get", { name: "resource-prompt", arguments: { resourceType: "Text", resourceId: "1" } }),
  );
  await talk.ask(request(43, "prompts/get", { name: "args-prompt", arguments: {} }));
  const prompt = { type: "ref/prompt", name: "completable-prompt" };
  const template = { type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" };
  await talk.ask(request(44, "completion/complete", { ref: prompt, argument: { name: "department", value: "S" } }));
  await talk.ask(request(45, "completion/complete", { ref: template, argument: { name: "resourceId", value: "12" } }));
  await talk.ask(request(46, "logging/setLevel", { level: "debug" }));
  await talk.ask(request(47, "logging/setLevel", { level: "loud" }));
}

/** The server asks, the client answers: a model, a person, the folders. Also with errors and in odd spellings. */
async function answerServer(talk: Talk): Promise<void> {
  talk.write(`${call(50, "trigger-sampling-request", { prompt: "Hi", maxTokens: 5 })}\n`);
  const model =
    '{ "model":"m\\u002f1" , "role":"assistant","content":{"type":"text","text":"\\ud83d\\ude00 12345678901234567890"},"extra":1.0}';
  await answer(talk, "sampling/createMessage", model);
  await hearId(talk, 50);
  talk.write(`${call(51, "trigger-sampling-request", { prompt: "Hi" })}\n`);
  const asked = await hearMethod(talk, "sampling/createMessage");
  talk.write(`{"error":{"message":"No, thanks","code":-1},"id":${idIn(asked)},"jsonrpc":"2.0"}\n`);
  await hearId(talk, 51);
  for (const [id, result] of [
    [52, '{"action":"accept","content":{"name":"Ä","integer":7}}'],
    [53, '{"action":"decline"}'],
    [54, '{"action":"cancel"}'],
  ] as const) {
    talk.write(`${call(id, "trigger-elicitation-request")}\n`);
    await answer(talk, "elicitation/create", result);
    await hearId(talk, id);
  }
  const page = { url: "https://example.org/?a=1&b=2", elicitationId: "e1" };
  talk.write(`${call(55, "trigger-url-elicitation", page)}\n`);
  await answer(talk, "elicitation/create", '{"action":"accept"}');
  await hearId(talk, 55);
  await talk.ask(call(56, "trigger-url-elicitation", { ...page, errorPath: true }));
  talk.write('{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n');
  await answer(talk, "roots/list", '{"roots":[]}');
  await hearMethod(talk, "notifications/message");
  await talk.ask(call(57, "get-roots-list"));
}

async function runTasks(talk: Talk): Promise<void> {
  const [first, second] = [await talk.ask(research(60)), await talk.ask(research(61))].map((line) => {
    const { result } = JSON.parse(line) as { result: { task: { taskId: string } } };
    return result.task.taskId;
  });
  await talk.ask(request(62, "tasks/get", { taskId: first }));
  await talk.ask(request(63, "tasks/list", {}));
  await talk.ask(request(64, "tasks/cancel", { taskId: second }));
  await talk.ask(request(65, "tasks/get", { taskId: "no-such-task" }));
  // The question to the person comes with the wait for the result.
  talk.write(`${request(66, "tasks/result", { taskId: first })}\n`);
  await answer(talk, "elicitation/create", '{"action":"accept","content":{"interpretation":"snake"}}');
  await hearId(talk, 66);
  // And the other way round: what the server asks of the model is a task of the client's.
  talk.write(`${call(67, "trigger-sampling-request-async", { prompt: "Hi" })}\n`);
  const task =
    '"taskId":"t1","status":"working","ttl":60000,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"';
  await answer(talk, "sampling/createMessage", `{"task":{${task},"pollInterval":100}}`);
  await answer(talk, "tasks/get", `{${task.replace("working", "completed")}}`);
  await answer(talk, "tasks/result", '{"role":"assistant","model":"m","content":{"type":"text","text":"done"}}');
  await hearId(talk, 67);
}

function research(id: number): string {
  return request(id, "tools/call", {
    name: "simulate-research-query",
    arguments: { topic: "python", ambiguous: true },
    task: { ttl: 60_000 },
  });
}

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

/** Without what differs from run to run: times of day, dates, and the names that it makes up for tasks and questions. */
function steady(bytes: Buffer): Buffer {
  const text = bytes
    .toString("latin1")
    .replaceAll(/\d{1,2}:\d\d:\d\d [AP]M/g, "<time>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<date>")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replaceAll(/"[0-9a-f]{32}"/g, '"<task>"');
  return Buffer.from(text, "latin1");
}

const hearId = (talk: Talk, id: number): Promise<string> =>
  talk.hear((message) => message.id === id && message.method === undefined);

const hearMethod = (talk: Talk, method: string): Promise<string> => talk.hear((message) => message.method === method);

async function answer(talk: Talk, method: string, result: string): Promise<void> {
  talk.write(`{"jsonrpc":"2.0","id":${idIn(await hearMethod(talk, method))},"result":${result}}\n`);
}

function idIn(line: string): string {
  return JSON.stringify((JSON.parse(line) as { id: unknown }).id);
}
