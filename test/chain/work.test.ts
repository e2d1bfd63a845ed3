import { describe, expect, test } from "vitest";
import { whole } from "../../src/message/message.ts";
import { MAX_WORK_PER_MESSAGE } from "../../src/policy/rules/work.ts";
import { LINES } from "../../src/session/exchange.ts";
import { cpuTime } from "../support/cpu.ts";
import { call, line, result, rules, stageRules } from "../support/rules.ts";

const TOO_MUCH = `Blocked by policy: it cannot be judged: it takes more than ${MAX_WORK_PER_MESSAGE} steps of work; send or ask for less at a time`;

// Large enough to cost a lot on each character, and it never matches.
const DEAR = `(?:${Array.from({ length: 100 }, (_, nth) => `x${nth}y`).join("|")})`;

const text = "x".repeat(20_000);

function ask(id: number, count: number): string {
  const one = { method: "sampling/createMessage", params: { text } };
  const inputRequests = Object.fromEntries(Array.from({ length: count }, (_, nth) => [`k${nth}`, one])) as object;
  return result(id, { resultType: "input_required", inputRequests });
}

function edit(nth: number): string {
  return `- id: set-${nth}
  conditions: [{ method_equals: tools/call }]
  actions: [{ set_param: { field: arguments.n${nth}, value: 1 } }]`;
}

function request(args: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":${args}}}`;
}

function name(nth: number): string {
  return nth.toString(36).padStart(4, "0");
}

function escaped(nth: number): string {
  return `"\\u00${name(nth).charCodeAt(0).toString(16)}${name(nth).slice(1)}":0`;
}

describe("the work of one message is shared by all that is inside of it", () => {
  test("by the questions of a server", async () => {
    const { client, server, heard, effects } = await stageRules(
      rules(`- id: dear
  conditions: [{ method_equals: sampling/createMessage }, { param_matches: { field: text, pattern: "${DEAR}" } }]
  actions: [{ block: "no" }]`),
    );
    await client(call(1, "a"));
    await server(ask(1, 1));
    expect(heard("client")).toBe(ask(1, 1));
    await client(call(2, "a"));
    await server(ask(2, 50));
    expect(JSON.parse(heard("client"))).toMatchObject({ error: { message: TOO_MUCH, data: { rule: "dear" } } });
    expect(effects.said.join()).toContain("steps of work");
  });

  test("by the elements of a list, which are not hidden for that", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: dear
  conditions: [{ method_equals: tools/list }, { result_matches: { field: description, pattern: "${DEAR}" } }]
  actions: [hide]`),
    );
    const tools = Array.from({ length: 50 }, (_, nth) => ({ name: `t${nth}`, description: text }));
    await client(line({ id: 1, method: "tools/list" }));
    await server(result(1, { tools: tools.slice(0, 1) }));
    expect(heard("client")).toBe(result(1, { tools: tools.slice(0, 1) }));
    await client(line({ id: 2, method: "tools/list" }));
    await server(result(2, { tools }));
    expect(JSON.parse(heard("client"))).toMatchObject({ error: { message: TOO_MUCH } });
  });

  test("by the message before it was changed and after", async () => {
    const look = `- id: dear
  conditions: [{ param_matches: { field: arguments.t, pattern: "${DEAR}" } }]
  actions: [{ block: "no" }]`;
    const all = Array.from({ length: 12 }, (_, nth) => nth).flatMap((nth) => [
      edit(nth),
      look.replace("dear", `dear-${nth}`),
    ]);
    const { client, heard } = await stageRules(rules(all.join("\n")));
    await client(call(1, "a", { t: "x".repeat(1000) }));
    expect(heard("server")).toContain('"n11":1');
    await client(call(2, "a", { t: "x".repeat(35_000) }));
    expect(JSON.parse(heard("client"))).toMatchObject({ error: { message: TOO_MUCH } });
  });

  test("and a policy that says so lets such a message pass", async () => {
    const { client, heard } = await stageRules(
      rules(
        [1, 2, 3, 4, 5, 6]
          .map(
            (nth) => `- id: dear-${nth}
  conditions: [{ param_matches: { field: t, pattern: "${DEAR}${nth}" } }]
  actions: [{ block: "no" }]`,
          )
          .join("\n"),
        "{ on_error: allow }",
      ),
    );
    const said = line({ id: 1, method: "ping", params: { t: "x".repeat(35_000) } });
    await client(said);
    expect(heard("server")).toBe(said);
  });
});

describe("no message of 10 MB keeps everybody waiting", () => {
  const SIZE = 10 * 1024 * 1024 - 1000;
  // It is less than a second in the command. Modules that are loaded one by one for tests take several times as long.
  const LIMIT_MS = 4000;
  const many = (piece: (nth: number) => string): string => {
    const pieces: string[] = [];
    for (let nth = 0, size = 0; size < SIZE; nth++) {
      const one = piece(nth);
      pieces.push(one);
      size += one.length + 1;
    }
    return pieces.join(",");
  };
  const CALL = "{ method_equals: tools/call }";
  const HASH = `- id: once
  conditions: [${CALL}]
  actions: [{ rate_limit: { key: "\${params_hash}", limit: 5, window: 1m } }]`;
  const fields = (count: number): string =>
    Array.from(
      { length: count },
      (_, nth) => `- id: f${nth}
  conditions: [${CALL}, { param_exists: arguments.field${nth} }]
  actions: [{ block: "no" }]`,
    ).join("\n");
  const SAMPLING = `- id: sampling
  direction: up
  conditions: [{ method_equals: sampling/createMessage }]
  actions: [{ block: "no" }]`;
  const responses = Array.from({ length: 1000 }, (_, nth) => `"k${nth}":{}`).join(",");

  test.each([
    ["nested arrays, hashed", HASH, () => request("[".repeat(100) + many(() => "0") + "]".repeat(100))],
    ["escaped keys, looked for by many rules", fields(60), () => request(`{${many(escaped)}}`)],
    ["keys in the wrong order, hashed", HASH, () => request(`{${many((nth) => `"${name(1_500_000 - nth)}":0`)}}`)],
    ["small objects in the wrong order, hashed", HASH, () => request(`[${many(() => '{"b":0,"a":0}')}]`)],
    [
      "a thousand answers beside a large argument",
      SAMPLING,
      () => request(`"${"x".repeat(SIZE)}","inputResponses":{${responses}},"requestState":"s"`),
    ],
  ])("%s", async (_, policy, make) => {
    const { passage } = await stageRules(rules(policy));
    const payload = whole(Buffer.from(make()));
    expect(payload.end).toBeGreaterThan(SIZE);
    expect(await cpuTime(() => passage.pass(payload, "up", LINES))).toBeLessThan(LIMIT_MS);
  });

  test("a list of millions of elements, from which some are hidden", async () => {
    const { passage, client } = await stageRules(
      rules(`- id: some
  conditions: [{ method_equals: tools/list }, { tool_matches: "^x" }]
  actions: [hide]`),
    );
    await client(line({ id: 1, method: "tools/list" }));
    const payload = whole(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${many(() => "{}")}]}}`));
    expect(await cpuTime(() => passage.pass(payload, "down", LINES))).toBeLessThan(LIMIT_MS);
  });
});
