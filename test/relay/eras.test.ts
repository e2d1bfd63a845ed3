import { describe, expect, test } from "vitest";
import { denying, stage } from "../support/play.ts";

const VERSION = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"';
const CLIENT = '"io.modelcontextprotocol/clientInfo":{ "name":"c" , "version":"1.0" }';
const CAPABILITIES = '"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"n":1.0}';
const META = `"_meta":{${VERSION},"progressToken":"p",${CLIENT},${CAPABILITIES},"traceparent":"00-1"}`;
const call = (id: number, name: string, more = ""): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{${META},"name":"${name}"${more}}}\n`;
const plain = (id: number, name: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}\n`;
const list = (id: number | string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/list","params":{${META}}}\n`;
const tools = (...names: string[]): string =>
  names.map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`).join(",");
const modern = (id: number | string, ...names: string[]): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete","tools":[${tools(...names)}],"ttlMs":300000,"cacheScope":"public"}}\n`;
const old = (id: number | string, ...names: string[]): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[${tools(...names)}]}}\n`;
const answer = (id: number, result: string): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}\n`;
const NOT_FOUND = /"code":-32601,"message":"Tool not found: /;

test("server/discover and its answer pass as they came, also before anything else", async () => {
  const { client, server, heard } = stage(denying("^denied_tool$"));
  const discover = `{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{${META}}}\n`;
  const found =
    '{"jsonrpc":"2.0","id":"server-discover-probe-1","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}}\n';
  await client(discover);
  await server(found);
  expect(heard("server")).toBe(discover);
  expect(heard("client")).toBe(found);
});

test("our own fetch says of the client what the client's call says, as it was written", async () => {
  const { client, server, heard, session } = stage(denying("^denied_tool$"));
  await client(call(1, "safe_tool"));
  const own = `fairlead-${session.id}-1`;
  expect(heard("server")).toBe(
    `{"jsonrpc":"2.0","id":"${own}","method":"tools/list","params":{"_meta":{${VERSION},${CLIENT},${CAPABILITIES}}}}\n`,
  );
  await server(modern(own, "safe_tool").replace('"ttlMs"', '"nextCursor":"2","ttlMs"'));
  expect(heard("server")).toBe(
    `{"jsonrpc":"2.0","id":"fairlead-${session.id}-2","method":"tools/list","params":{"_meta":{${VERSION},${CLIENT},${CAPABILITIES}},"cursor":"2"}}\n`,
  );
  await server(modern(`fairlead-${session.id}-2`, "denied_tool"));
  expect(heard("server")).toBe(call(1, "safe_tool"));
});

describe("each era has a list of its own", () => {
  test("and is answered with its own, all its members kept", async () => {
    const { client, server, heard } = stage(denying("^denied_tool$"));
    await client('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', list(2));
    await server(old(1, "old_tool", "denied_tool"), modern(2, "new_tool", "denied_tool"));
    expect(heard("client")).toBe(old(1, "old_tool") + modern(2, "new_tool"));
    heard("server");
    await client('{"jsonrpc":"2.0","id":3,"method":"tools/list"}\n', list(4));
    expect(heard("client")).toBe(old(3, "old_tool") + modern(4, "new_tool"));
    expect(heard("server")).toBe("");
  });

  test("and a tool of the one is no tool of the other", async () => {
    const { client, server, heard } = stage(denying("^denied_tool$"));
    await client('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', list(2));
    await server(old(1, "old_tool"), modern(2, "new_tool"));
    heard("client");
    heard("server");
    await client(call(3, "new_tool"), plain(4, "old_tool"), call(5, "old_tool"), plain(6, "new_tool"));
    expect(heard("server")).toBe(call(3, "new_tool") + plain(4, "old_tool"));
    expect(heard("client")).toMatch(NOT_FOUND);
  });

  test("and a change is a change of both", async () => {
    const { client, server, heard } = stage(denying("^denied_tool$"));
    await client('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', list(2));
    await server(old(1, "a"), modern(2, "a"), '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n');
    heard("server");
    await client('{"jsonrpc":"2.0","id":3,"method":"tools/list"}\n', list(4));
    expect(heard("server")).toBe(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}\n${list(4)}`);
  });

  test("and a server that knows no tools in one may know some in the other", async () => {
    const { client, server, heard } = stage(denying("^denied_tool$"));
    await client(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{${META}}}\n`);
    await server(answer(1, '{"resultType":"complete","capabilities":{"prompts":{}},"ttlMs":0,"cacheScope":"public"}'));
    heard("client");
    heard("server");
    await client(call(2, "a"), '{"jsonrpc":"2.0","id":3,"method":"tools/list"}\n');
    expect(heard("client")).toMatch(NOT_FOUND);
    expect(heard("server")).toBe('{"jsonrpc":"2.0","id":3,"method":"tools/list"}\n');
  });
});

test("the list of a server that declares no tools is empty, with what a list of this era must say", async () => {
  const { client, server, heard } = stage(denying("^denied_tool$"));
  await client(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{${META}}}\n`);
  await server(answer(1, '{"resultType":"complete","capabilities":{},"ttlMs":0,"cacheScope":"public"}'));
  heard("client");
  heard("server");
  await client(list(2));
  expect(heard("server")).toBe("");
  expect(heard("client")).toBe(answer(2, '{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}'));
});

/** A relay with one call of the new era on its way. */
async function ready() {
  const relay = stage(denying("^denied_tool$"));
  await relay.client(list(1));
  await relay.server(modern(1, "safe_tool", "denied_tool"));
  await relay.client(call(2, "safe_tool"));
  relay.heard("client");
  relay.heard("server");
  return relay;
}

describe("results that are not the end", () => {
  test.each([
    [
      "a question to the person",
      '{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"s\\u0074ate=="}',
    ],
    ["a task", '{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":100.0}'],
  ])("pass as they came: %s", async (_what, result) => {
    const { server, heard } = await ready();
    await server(answer(2, result));
    expect(heard("client")).toBe(answer(2, result));
  });

  test("and a call that is made again is judged again", async () => {
    const { client, server, heard } = await ready();
    await server(answer(2, '{"resultType":"input_required","requestState":"s"}'));
    const more = ',"requestState":"s","inputResponses":{"a":{"action":"accept"}}';
    await client(call(3, "safe_tool", more), call(4, "denied_tool", more));
    expect(heard("server")).toBe(call(3, "safe_tool", more));
    expect(heard("client")).toMatch(NOT_FOUND);
  });

  test("and what becomes of a task passes under its own requests", async () => {
    const { client, server, heard } = await ready();
    const get = `{"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{${META},"taskId":"t1"}}\n`;
    const notice = '{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t1","status":"completed"}}\n';
    await client(get);
    await server(
      notice,
      answer(5, '{"resultType":"complete","taskId":"t1","status":"completed","result":{"content":[]}}'),
    );
    expect(heard("server")).toBe(get);
    expect(heard("client")).toContain(notice);
    expect(heard("client")).toBe("");
  });
});

test("a subscription is answered first by its acknowledgement, and both pass", async () => {
  const { client, server, heard } = stage(denying("^denied_tool$"));
  const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{${META},"notifications":{"toolsListChanged":true}}}\n`;
  const acknowledged =
    '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}\n';
  await client(listen);
  await server(acknowledged, answer(1, "{}"));
  expect(heard("server")).toBe(listen);
  expect(heard("client")).toBe(acknowledged + answer(1, "{}"));
});
