import { describe, expect, test } from "vitest";
import type { Policy } from "../../src/policy/judge.ts";
import { createNameFilters, readNames, type NameOptions } from "../../src/proxy/names.ts";
import { play, stage } from "../support/play.ts";

const hiding = (names: NameOptions): Policy => ({ tools: null, names: createNameFilters(readNames(names), () => {}) });
const DENYING = hiding({ prompts: { deny: ["^deploy"] }, resources: { deny: ["^file:///secret/", "^vault:"] } });

const ask = (method: string, params: string, id = 1): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}\n`;
const modern = (params: string): string =>
  params.replace(/\}$/, ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}');
const answer = (result: string, id = 1): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}\n`;
const refusal = (error: string): string => `{"jsonrpc":"2.0","id":1,"error":${error}}\n`;

const URI = "file:///secret/key";
const OLD = refusal(`{"code":-32002,"message":"Resource not found","data":{"uri":"${URI}"}}`);
const NEW = refusal(`{"code":-32602,"message":"Resource not found","data":{"uri":"${URI}"}}`);

describe("what is hidden is refused like what never was", () => {
  test.each([
    ["prompts/get", '{"name":"deploy_now"}', '{"code":-32602,"message":"Prompt not found: deploy_now"}'],
    ["prompts/get", '{"name":"De\\u0070loy"}', '{"code":-32602,"message":"Prompt not found: Deploy"}'],
    [
      "completion/complete",
      '{"ref":{"type":"ref/prompt","name":"deploy_now"},"argument":{"name":"a","value":""}}',
      '{"code":-32602,"message":"Prompt not found: deploy_now"}',
    ],
  ])("%s %s", async (method, params, error) => {
    expect(await play(DENYING, { client: ask(method, params) })).toEqual({ server: "", client: refusal(error) });
  });

  test.each([
    ["resources/read", `{"uri":"${URI}"}`],
    ["resources/subscribe", `{"uri":"${URI}"}`],
    ["resources/unsubscribe", `{"uri":"${URI}"}`],
    ["resources/directory/read", `{"uri":"${URI}"}`],
    ["skills/get", `{"uri":"${URI}"}`],
    ["completion/complete", `{"ref":{"type":"ref/resource","uri":"${URI}"},"argument":{"name":"a","value":""}}`],
    // Whatever type it says it has.
    ["completion/complete", `{"ref":{"type":"ref/prompt","name":"greet","uri":"${URI}"}}`],
    ["subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["ab:c","${URI}"]}}`],
  ])("%s, in both eras", async (method, params) => {
    expect(await play(DENYING, { client: ask(method, params) })).toEqual({ server: "", client: OLD });
    expect(await play(DENYING, { client: ask(method, modern(params)) })).toEqual({ server: "", client: NEW });
  });

  test("a link that is another spelling of a hidden one", async () => {
    const { client, heard } = stage(DENYING);
    await client(ask("resources/read", '{"uri":"FILE:///public/%2e%2e/secret/key"}'));
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain('"data":{"uri":"FILE:///public/%2e%2e/secret/key"}');
  });

  test("it is in the log and in the audit log", async () => {
    const { client, events, said, troubles } = stage(DENYING);
    await client(ask("resources/read", `{"uri":"${URI}"}`), ask("prompts/get", '{"name":"deploy"}', 2));
    expect(said).toEqual([
      `info  refused a resource that is hidden rule="resources" resource="${URI}"`,
      'info  refused a prompt that is hidden rule="prompts" prompt="deploy"',
    ]);
    expect(troubles).toEqual([]);
    expect(events.map(({ verdict, rule, tool }) => [verdict, rule, tool])).toEqual([
      ["deny", "resources", URI],
      ["deny", "prompts", "deploy"],
    ]);
  });
});

describe("what does not say in one way what it is about does not pass", () => {
  test.each([
    ["prompts/get", "{}"],
    ["resources/read", "{}"],
    ["completion/complete", '{"argument":{}}'],
    ["completion/complete", '{"ref":{"type":"ref/prompt"}}'],
    ["completion/complete", '{"ref":{"type":"ref/prompt","name":7}}'],
    ["completion/complete", '{"ref":{"type":"ref/prompt","name":"a","NAME":"deploy"}}'],
    ["completion/complete", '{"ref":"deploy"}'],
    ["completion/complete", '{"Ref":{"name":"deploy"},"ref":{"name":"a"}}'],
    ["subscriptions/listen", '{"notifications":{"ResourceSubscriptions":["ab:c"]}}'],
    ["subscriptions/listen", '{"notifications":{"resourceSubscriptions":"ab:c"}}'],
    ["subscriptions/listen", '{"notifications":{"resourceSubscriptions":[7]}}'],
    ["subscriptions/listen", '{"notifications":[]}'],
  ])("%s %s", async (method, params) => {
    const { client, heard } = stage(DENYING);
    await client(ask(method, params));
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain('"code":-32602');
  });

  test("but it does where nothing is hidden of that kind", async () => {
    const { client, heard } = stage(hiding({ prompts: { deny: ["^deploy"] } }));
    const said = ask("resources/read", "{}") + ask("subscriptions/listen", '{"notifications":[]}', 2);
    await client(said);
    expect(heard("server")).toBe(said);
  });
});

test("what is not hidden passes byte for byte", async () => {
  const { client, server, heard } = stage(DENYING);
  const said = [
    ask("prompts/get", '{ "name" : "gr\\u0065et" }'),
    ask("resources/read", '{"uri":"file:///public/a%20b"}', 2),
    ask("completion/complete", '{"ref":{"type":"ref/resource","uri":"note:///{name}"},"argument":{}}', 3),
    ask("subscriptions/listen", '{"notifications":{"resourceSubscriptions":["file:///public/a"]}}', 4),
    ask("subscriptions/listen", "{}", 5),
    ask("skills/get", '{"uri":"skill://a/SKILL.md"}', 6),
  ].join("");
  await client(said);
  expect(heard("server")).toBe(said);
  await server(answer('{"messages":[]}'));
  expect(heard("client")).toBe(answer('{"messages":[]}'));
});

describe("lists", () => {
  test.each([
    ["prompts/list", "prompts", "name", ["greet", "deploy", "Deploy_2", "bye"], ["greet", "bye"]],
    ["resources/list", "resources", "uri", [URI, "file:///a", "VAULT:x", "note:b"], ["file:///a", "note:b"]],
    [
      "resources/templates/list",
      "resourceTemplates",
      "uriTemplate",
      ["file:///{path}", "vault:{id}", "file:///secret/{x}"],
      ["file:///{path}"],
    ],
    ["resources/directory/read", "resources", "uri", ["file:///a", URI], ["file:///a"]],
    ["skills/list", "skills", "uri", ["vault:a", "skill://a"], ["skill://a"]],
  ])("%s comes without what is hidden, and all else as it was", async (method, list, name, all, left) => {
    const page = (names: string[]): string =>
      answer(
        `{ "x":1.0, "${list}": [ ${names.map((text) => `{"t":"\\u0041" ,"${name}":${JSON.stringify(text)}}`).join(" , ")} ],"nextCursor":""}`,
      );
    const steps = [{ client: ask(method, '{"uri":"file:///a"}') }, { server: page(all) }];
    const { client } = await play(DENYING, ...steps);
    expect(client).toBe(page(left));
  });

  test("an entry that has no name is hidden", async () => {
    const steps = [
      { client: ask("prompts/list", "{}") },
      { server: answer('{"prompts":[{"a":1},{"name":"b"},{"name":7}]}') },
    ];
    expect((await play(DENYING, ...steps)).client).toBe(answer('{"prompts":[{"name":"b"}]}'));
  });

  test.each([
    '{"prompts":{}}',
    "{}",
    '{"prompts":[7]}',
    '{"prompts":[],"Prompts":[]}',
    '{"prompts":[{"name":"a","Name":"deploy"}]}',
  ])("what is no list, or two, is replaced by an error: %s", async (result) => {
    const steps = [{ client: ask("prompts/list", "{}") }, { server: answer(result) }];
    expect((await play(DENYING, ...steps)).client).toBe(refusal('{"code":-32000,"message":"Invalid response"}'));
  });

  test("where only some are allowed, only those are listed", async () => {
    const policy = hiding({ resources: { allow: ["^file:///public/"] } });
    const steps = [
      { client: ask("resources/list", "{}") },
      { server: answer('{"resources":[{"uri":"file:///public/a"},{"uri":"file:///public/../b"},{"uri":"c:d"}]}') },
    ];
    expect((await play(policy, ...steps)).client).toBe(answer('{"resources":[{"uri":"file:///public/a"}]}'));
  });
});

const news = (params: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":${params}}\n`;

test("news of what is hidden is dropped", async () => {
  const { server, heard, troubles } = stage(DENYING);
  await server(
    news(`{"uri":"${URI}"}`),
    news("{}"),
    news('{"uri":"file:///a/%2e%2e/secret/x"}'),
    news('{"uri":"file:///a"}'),
  );
  expect(heard("client")).toBe(news('{"uri":"file:///a"}'));
  expect(troubles).toEqual(["resources"]); // the one that does not say what it is about
});

test("a batch is judged message by message", async () => {
  const { client, server, heard } = stage(DENYING);
  await client(ask("initialize", "{}", 9));
  await server(answer('{"protocolVersion":"2025-03-26","capabilities":{}}', 9));
  heard("server");
  heard("client");
  const members = [ask("prompts/get", '{"name":"deploy"}', 1), ask("prompts/get", '{"name":"greet"}', 2)].map((line) =>
    line.trim(),
  );
  await client(`[${members.join(",")}]\n`);
  expect(heard("server")).toBe(`[${members[1]}]\n`);
  expect(heard("client")).toContain("Prompt not found: deploy");
});

function set(links: "keep" | "cut" | "block" | null): Policy {
  return hiding({ resources: { deny: ["^file:///secret/", "^vault:"], links } });
}

function message(content: string): string {
  return `{"role":"user","content":${content}}`;
}

describe("links to hidden resources in what tools and prompts return", () => {
  const call = ask("tools/call", '{"name":"find"}');
  const shown = '{"type":"resource_link","uri":"file:///public/a","name":"a"}';
  const hidden = `{"type":"resource_link","uri":"${URI}","name":"k"}`;
  const embedded = '{"type": "resource", "resource": {"uri":"vault:x","text":"1.0"} }';
  test("stay as they are unless something else is asked for", async () => {
    for (const links of ["keep", null] as const) {
      const said = answer(`{"content":[${shown}, ${hidden},${embedded}]}`);
      expect(await play(set(links), { client: call }, { server: said })).toEqual({ server: call, client: said });
    }
  });

  test.each([
    [`{"content":[${shown}, ${hidden},${embedded}], "n":1.0}`, `{"content":[${shown}], "n":1.0}`],
    [`{"content":[${hidden}]}`, '{"content":[]}'],
    [
      // However it is spelled, and whatever type it says it has.
      `{"content":[{"type":"text","ur\\u0069":"FILE:///public/../secret/key"}, ${shown}]}`,
      `{"content":[${shown}]}`,
    ],
    // What some clients may take for a link that nobody judged.
    [
      `{"content":[{"type":"resource_link","uri":"file:///public/a","URI":"${URI}"},${shown}]}`,
      `{"content":[${shown}]}`,
    ],
    [`{"content":[{"type":"resource_link","uri":7},${shown}]}`, `{"content":[${shown}]}`],
    [`{"content":[{"type":"text","text":"${URI}"}]}`, `{"content":[{"type":"text","text":"${URI}"}]}`],
  ])("are cut out of a result, and nothing else is: %s", async (said, left) => {
    const { client } = await play(set("cut"), { client: call }, { server: answer(said) });
    expect(client).toBe(answer(left));
  });

  test("are cut out of the messages of a prompt and out of the results of tasks", async () => {
    const prompt = ask("prompts/get", '{"name":"p"}');
    const messages = [message(hidden), message(`[${hidden},${shown}]`), message(shown)];
    const left = [message(`[${shown}]`), message(shown)];
    expect(
      (await play(set("cut"), { client: prompt }, { server: answer(`{"messages":[${messages.join(",")}]}`) })).client,
    ).toBe(answer(`{"messages":[${left.join(",")}]}`));
    const task = ask("tasks/get", '{"taskId":"t"}');
    const state = (content: string): string => answer(`{"taskId":"t","result":{"content":[${content}]}}`);
    expect((await play(set("cut"), { client: task }, { server: state(hidden) })).client).toBe(state(""));
  });

  test("block the result where that is asked for, and it is in the log", async () => {
    const { client, server, heard, said, events } = stage(set("block"));
    await client(call);
    await server(answer(`{"content":[${shown},${embedded}]}`));
    expect(heard("client")).toBe(
      refusal(
        '{"code":-32001,"message":"Blocked by policy: the result has a link to a resource that is hidden","data":{"rule":"resources.links","action":"block"}}',
      ),
    );
    expect(said.join()).toContain('rule="resources" resource="vault:x"');
    expect(events.at(-1)).toMatchObject({ verdict: "deny", rule: "resources" });
    await client(ask("tools/call", '{"name":"find"}', 2));
    await server(answer(`{"content":[${shown}]}`, 2));
    expect(heard("client")).toBe(answer(`{"content":[${shown}]}`, 2));
  });

  test("are not looked for in a result that clients may read in two ways: it does not pass", async () => {
    const said = answer(`{"content":[],"Content":[${hidden}]}`);
    expect((await play(set("cut"), { client: call }, { server: said })).client).toContain("Invalid response");
  });
});
