import { call, initialize, INITIALIZED, META, modernRequest, request, type Spoken, type Talk } from "./peers.ts";

const CAPABILITIES = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
};

/** A conversation with server-everything about all it has. */
export async function converse(talk: Talk): Promise<void> {
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

/** Without what differs from run to run: times of day, dates, and the names that it makes up for tasks and questions. */
export function steady(bytes: Buffer): Buffer {
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

/** A conversation of 2026-07-28 with the server on the newest SDK, about all it has. */
export async function talkInNewEra(talk: Talk): Promise<void> {
  await talk.ask(modernRequest("server-discover-probe-1", "server/discover"));
  await talk.ask(modernRequest(0, "tools/list"));
  await talk.ask(modernRequest(1, "tools/list", { cursor: "3" }));
  await talk.ask(modernRequest(2, "tools/list", { cursor: "6" }));
  await talk.ask(modernCall(3, "echo", { message: { "“": [1, null, "\u2028"] } }));
  await talk.ask(modernCall(4, "weather", { city: "Åbo" }));
  await talk.ask(modernCall(5, "fail"));
  await talk.ask(modernCall(6, "no_such_tool"));
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
  if (!third.includes('"complete"')) throw new Error(`Not complete: ${third}`);
}

/** The state that has to come back, as it is spelled. */
function stateIn(line: string): string {
  return /"requestState":("(?:[^"\\]|\\.)*")/.exec(line)?.[1] ?? "";
}

async function listen(talk: Talk): Promise<void> {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["file:///readme.md"] };
  talk.write(`${modernRequest("listen", "subscriptions/listen", { notifications })}\n`);
  await talk.hear(({ method }) => method === "notifications/subscriptions/acknowledged");
  await talk.ask(modernCall(30, "grow"));
  await talk.hear(({ method }) => method === "notifications/tools/list_changed");
  await talk.ask(modernCall(31, "plain_1"));
  const params = { requestId: "listen", reason: "over" };
  talk.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })}\n`);
  await talk.ask(modernCall(32, "echo", { message: "last" }));
}

/** The same in the older era. */
export async function talkInOldEra(talk: Talk): Promise<void> {
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

function modernCall(id: number, name: string, args: object = {}): string {
  return modernRequest(id, "tools/call", { name, arguments: args });
}
