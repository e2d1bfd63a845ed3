import { describe, expect, test } from "vitest";
import type { Policy } from "../../src/policy/judge.ts";
import { parsePattern } from "../../src/policy/patterns.ts";
import { createToolFilter, type ToolFilterOptions } from "../../src/policy/tool-filter.ts";
import { stage } from "../support/play.ts";

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';
const page = (...names: string[]): string =>
  `{"jsonrpc":"2.0","id":1,"result":{"tools":[${names.map((name) => `{"name":${JSON.stringify(name)},"inputSchema":{}}`).join(",")}]}}\n`;
const call = (name: string, id = 2): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${JSON.stringify(name)}}}\n`;
const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n';

function hiding(options: Partial<ToolFilterOptions>): Policy {
  return { tools: createToolFilter({ deny: [parsePattern("^secret_", "deny")], allow: [], ...options }) };
}

/** A relay that has seen these tools. */
async function showing(policy: Policy, ...names: string[]) {
  const relay = stage(policy);
  await relay.client(LIST);
  await relay.server(page(...names));
  relay.heard("client");
  relay.heard("server");
  return relay;
}

/** Lets two calls be refused by a server that answers like this, and says what the client heard. */
async function mirrored(answer: (name: string) => string, ...calls: string[]) {
  const relay = await showing(hiding({ notFound: "upstream" }), "a", "secret_b");
  await relay.client(...calls);
  const asked = JSON.parse(relay.heard("server")) as { id: string; method: string; params: { name: string } };
  expect(asked.method).toBe("tools/call");
  expect(asked.params.name).toMatch(/^tool_[0-9a-f]{16}$/);
  await relay.server(`{"jsonrpc":"2.0","id":${JSON.stringify(asked.id)},${answer(asked.params.name)}}\n`);
  return { ...relay, said: relay.heard("client") };
}

describe("how a call of a hidden or unknown tool is answered", () => {
  test("as the newer revisions have it", async () => {
    const { client, heard } = await showing(hiding({ notFound: "spec" }), "a", "secret_b");
    await client(call("secret_b"), call("nobody", 3));
    expect(heard("server")).toBe("");
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Unknown tool: secret_b"}}\n' +
        '{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: nobody"}}\n',
    );
  });

  test("as the server itself does, with an error; it is asked once, for a name that nobody has", async () => {
    const { client, heard, said, events } = await mirrored(
      (name) => `"error":{"code":-32099,"message":"no ${name}","data":{"tool":"${name}"}}`,
      call("secret_b"),
      call('no"body', 3),
    );
    expect(said.split("\n").sort()).toEqual([
      "",
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32099,"message":"no secret_b","data":{"tool":"secret_b"}}}',
      '{"jsonrpc":"2.0","id":3,"error":{"code":-32099,"message":"no no\\"body","data":{"tool":"no\\"body"}}}',
    ]);
    await client(call("\u001b[2J", 4));
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain('"message":"no \\\\u001b[2J"');
    expect(events.filter(({ verdict, rule }) => verdict === "deny" && rule === "tools")).toHaveLength(3);
  });

  test("as the server itself does, with a result", async () => {
    const { said } = await mirrored(
      (name) => `"result":{"content":[{"type":"text","text":"Tool ${name} not found"}],"isError":true}`,
      call("secret_b"),
    );
    expect(said).toBe(
      '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Tool secret_b not found"}],"isError":true}}\n',
    );
  });

  test.each([
    ["names a hidden tool", '"error":{"code":-1,"message":"try a or secret_b"}'],
    ["names it with escapes", '"error":{"code":-1,"message":"no","data":{"try":["secr\\u0065t_B"]}}'],
    ["is no error", '"error":{"code":"x","message":"no"}'],
    ["is longer than it is worth", `"result":{"text":"${"x".repeat(20_000)}"}`],
  ])("but not where its answer %s", async (_what, answer) => {
    const { said } = await mirrored(() => answer, call("nobody"));
    expect(said).toBe('{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Tool not found: nobody"}}\n');
  });

  test("a call that is allowed asks nothing", async () => {
    const { client, heard } = await showing(hiding({ notFound: "upstream" }), "a", "secret_b");
    await client(call("a"));
    expect(heard("server")).toBe(call("a"));
  });
});

test("a list that is to be kept is kept, whatever the server says of changes", async () => {
  const { client, server, heard } = stage(hiding({}), { keepsTools: true });
  await client(LIST);
  await server(page("a", "secret_b"));
  await server(CHANGED);
  heard("client");
  heard("server");
  await client(LIST, call("new"));
  expect(heard("server")).toBe("");
  expect(heard("client")).toContain("Tool not found: new");
});

const log = (data: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info", "data":${data}}}\n`;

describe("hidden names are taken out of all else, where that is wanted", () => {
  const STRICT = { isStrict: true };
  test.each([
    ['"called secret_b"', '"called [hidden]"'],
    ['"called s\\u0065cret_b, SECRET_B."', '"called [hidden], [hidden]."'],
    ['"mcp__x__secret_b()"', '"mcp__x__[hidden]()"'],
    ['{"secret_b":1,"x":["secret_b"],"secret_bb":2.0}', '{"[hidden]":1,"x":["[hidden]"],"[hidden]b 2":2.0}'],
    ['"secret_b and secret_book_is_shown"', '"[hidden] and secret_book_is_shown"'],
    ['"s_b is not  \\u0041 secret"', '"s_b is not  \\u0041 secret"'],
  ])("in a log message: %s", async (data, left) => {
    const policy = hiding({ ...STRICT, deny: [parsePattern("^secret_b$", "deny")] });
    const { server, heard } = await showing(policy, "a", "secret_b", "secret_book_is_shown");
    await server(log(data));
    expect(heard("client")).toBe(log(left));
  });

  test("in an error", async () => {
    const { client, server, heard, events } = await showing(hiding(STRICT), "a", "secret_b");
    await client(call("a"));
    await server(
      '{"jsonrpc":"2.0","id":2 ,"error":{"code":-1, "message":"try secret_b","data":["a","secret_b",1.0]}}\n',
    );
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":2 ,"error":{"code":-1, "message":"try [hidden]","data":["a","[hidden]",1.0]}}\n',
    );
    expect(events.at(-1)).toMatchObject({ verdict: "edit", rule: "tools:strict" });
  });

  test("in a completion, where the value goes", async () => {
    const { client, server, heard } = await showing(hiding(STRICT), "a", "secret_b");
    await client('{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{}}\n');
    await server(
      '{"jsonrpc":"2.0","id":2,"result":{"completion":{"values":["secret_b", "a", "x secret_b"],"total":3}}}\n',
    );
    expect(heard("client")).toBe('{"jsonrpc":"2.0","id":2,"result":{"completion":{"values":["a"],"total":3}}}\n');
  });

  test("but not in the results of tools, nor in what the client says", async () => {
    const { client, server, heard } = await showing(hiding(STRICT), "a", "secret_b");
    await client(call("a"));
    const result = '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"secret_b"}]}}\n';
    await server(result);
    expect(heard("client")).toBe(result);
  });

  test("also after the list has changed and is not known yet", async () => {
    const { server, heard } = await showing(hiding(STRICT), "a", "secret_b");
    await server(CHANGED, log('"secret_b"'));
    expect(heard("client")).toBe(CHANGED + log('"[hidden]"'));
  });

  test("a short name counts only where it stands alone", async () => {
    const policy = hiding({ ...STRICT, deny: [parsePattern("^(?:a|get)$", "deny")] });
    const { server, heard } = await showing(policy, "a", "get", "b");
    await server(log('"a cat can get_it: get"'));
    expect(heard("client")).toBe(log('"[hidden] cat can get_it: [hidden]"'));
  });

  test("what takes too long to look through does not pass", async () => {
    const names = Array.from({ length: 5000 }, (_, index) => `secret_${index}`);
    const { server, heard, events } = await showing(hiding(STRICT), ...names);
    const started = performance.now();
    await server(log(`"${"secret ".repeat(20_000)}"`), log('"still here"'));
    expect(performance.now() - started).toBeLessThan(3000);
    expect(heard("client")).toBe(log('"still here"'));
    expect(events.at(-2)).toMatchObject({ verdict: "deny", rule: "tools:strict" });
  });
});
