import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Intercepted, Interceptor } from "../../../src/rules/interceptors/interceptor.ts";
import { call, line, result, rules, stageRules } from "../../support/rules.ts";

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

function threeRules(failFast: boolean): string {
  return rules(
    `- id: mock
  priority: 3
  conditions: [{ method_equals: tools/call }]
  actions: [{ set_result: { field: ok, value: true } }]
- id: edit
  priority: 2
  conditions: [{ method_equals: tools/call }]
  actions: [{ log: { level: info, message: seen } }]
- id: no
  priority: 1
  conditions: [{ method_equals: tools/call }]
  actions: [{ block: "no" }]`,
    `{ fail_fast: ${failFast} }`,
  );
}

describe("the order of rules", () => {
  test("is by priority, then as in the file; allow ends it", async () => {
    const { client, heard, effects } = await stageRules(
      rules(`- id: last
  conditions: [{ method_equals: tools/call }]
  actions: [{ block: "last" }]
- id: second
  priority: 5
  conditions: [{ method_equals: tools/call }]
  actions: [{ log: { level: info, message: second } }]
- id: first
  priority: 9
  conditions: [{ tool_matches: "^ok$" }]
  actions: [allow, { log: { level: info, message: first } }]
- id: third
  priority: 5
  conditions: [{ method_equals: tools/call }]
  actions: [{ log: { level: info, message: third } }]`),
    );
    await client(call(1, "ok"));
    expect(heard("server")).toBe(call(1, "ok"));
    expect(effects.said).toEqual(["info rule:first first"]);
    await client(call(2, "no"));
    expect(heard("client")).toContain('"last"');
    expect(effects.said.slice(1)).toEqual(["info rule:second second", "info rule:third third"]);
  });

  test("fail_fast: false hears all of them, and a refusal stands against an edit and an answer", async () => {
    const fast = await stageRules(threeRules(true));
    await fast.client(call(1, "x"));
    expect(fast.heard("client")).toBe(result(1, { ok: true }));
    expect(fast.effects.said).toEqual([]);
    const slow = await stageRules(threeRules(false));
    await slow.client(call(1, "x"));
    expect(slow.heard("client")).toContain('"rule":"no"');
    expect(slow.effects.said).toEqual(["info rule:edit seen"]);
  });

  test("default_action: block spares the handshake, and what a rule has a word for", async () => {
    const { client, server, heard } = await stageRules(
      rules(
        `- id: reads
  conditions: [{ tool_matches: "^read_" }]
  actions: [allow]`,
        "{ default_action: block }",
      ),
    );
    const hello = line({
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } },
    });
    await client(hello, line({ method: "notifications/initialized" }), line({ id: 1, method: "ping" }));
    expect(heard("server").trimEnd().split("\n")).toHaveLength(3);
    await server(result(0, {}), result(1, {}));
    await client(call(2, "read_x"), call(3, "write_x"), line({ id: 4, method: "resources/list" }));
    expect(heard("server")).toBe(call(2, "read_x"));
    expect(heard("client")).toContain('"id":3,"error":{"code":-32001,"message":"Blocked by policy"');
  });
});

test("a rule in whose direction only answers go that it can be about means those", async () => {
  const conditions = [
    "{ method_equals: tools/call }",
    "{ method_starts_with: tools/ }",
    "{ method_ends_with: /call }",
    "{ method_matches: ^tools/call$ }",
    "{ tool_matches: ^read$ }",
    "{ all: [{ method_equals: tools/call }, { direction: down }] }",
    "{ any: [{ method_equals: tools/call }, { method_equals: resources/read }] }",
  ];
  for (const condition of conditions) {
    const { client, server, heard } = await stageRules(
      rules(`- id: cut
  direction: down
  conditions: [${condition}]
  actions: [{ transform: { redact: { patterns: [secret] } } }]`),
    );
    await client(call(1, "read", { text: "secret" }));
    expect(heard("server")).toBe(call(1, "read", { text: "secret" }));
    await server(result(1, { text: "secret" }));
    expect({ condition, heard: heard("client") }).toEqual({ condition, heard: result(1, { text: "[redacted]" }) });
  }
});

describe("default_action: block", () => {
  const LISTED = rules(
    `- id: calls
  conditions: [{ method_equals: tools/call }]
  actions: [allow]`,
    "{ default_action: block }",
  );

  test("is not for what a rule only writes down", async () => {
    const { client, heard, effects } = await stageRules(
      rules(
        `- id: seen
  actions: [{ log: { message: seen } }, { metric: { name: m } }, { fork: {} }]`,
        "{ default_action: block }",
      ),
    );
    await client(call(1, "x"));
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain('"data":{"rule":"default","action":"block"}');
    expect(effects.said).toEqual(["info rule:seen seen"]);
  });

  test("holds for what a server asks inside a result as for its own requests", async () => {
    const { client, server, heard } = await stageRules(LISTED);
    await client(call(1, "t"));
    heard("server");
    await server(asks(1, "sampling/createMessage"), line({ id: 7, method: "sampling/createMessage", params: {} }));
    expect(heard("client")).toContain('"id":1,"error":{"code":-32001,"message":"Blocked by policy"');
    expect(heard("server")).toContain('"id":7,"error":{"code":-32001,"message":"Blocked by policy"');
  });

  test("only says what it would do where all is observed", async () => {
    const { client, heard, events } = await stageRules(LISTED, { observe: true });
    await client(call(1, "x"), line({ id: 2, method: "resources/list" }));
    expect(heard("server")).toBe(call(1, "x") + line({ id: 2, method: "resources/list" }));
    expect(events.map(({ note }) => note)).toEqual(["would:allow:calls", "would:block:default"]);
  });
});

describe("what cannot be judged", () => {
  const LONG = rules(`- id: look
  conditions: [{ param_matches: { field: arguments.text, pattern: "x$" } }]
  actions: [{ block: "x" }]`);

  test("does not pass, unless somebody wrote that down", async () => {
    const text = "a".repeat(300_000);
    const { client, heard, effects } = await stageRules(LONG);
    await client(call(1, "t", { text }));
    expect(heard("client")).toContain("Blocked by policy");
    expect(effects.counted).toEqual(["failed rule:look"]);
    const lax = await stageRules(`${LONG}  chain: { on_error: allow }\n`);
    await lax.client(call(1, "t", { text }));
    expect(lax.heard("server")).toContain('"id":1');
  });

  test("by a rule that only watches is said, and passes", async () => {
    const { client, heard, effects } = await stageRules(
      LONG.replace('{ block: "x" }', "{ log: { level: info, message: seen } }"),
    );
    const long = call(1, "t", { text: "a".repeat(300_000) });
    await client(long);
    expect(heard("server")).toBe(long);
    expect(effects.said.join()).toContain("could not be applied");
  });

  test("an edit that cannot be made blocks", async () => {
    const { client, heard } = await stageRules(
      rules(`- id: set
  conditions: [{ method_equals: tools/call }]
  actions: [{ set_param: { field: name.deeper, value: 1 } }]`),
    );
    await client(call(1, "t"));
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain("Blocked by policy");
  });
});

describe("observe", () => {
  const TEXT = `- id: no
  conditions: [{ method_equals: tools/call }]
  actions: [{ block: "no" }]
- id: limit
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: k, limit: 1, window: 1m } }, { set_param: { field: a, value: 1 } }]`;

  test("judges and counts, and acts on nothing", async () => {
    const { client, heard, events, effects } = await stageRules(rules(TEXT), { observe: true });
    await client(call(1, "x"), call(2, "x"));
    expect(heard("server")).toBe(call(1, "x") + call(2, "x"));
    expect(events.map(({ verdict, note }) => [verdict, note])).toEqual([
      ["pass", "would:block:no would:set_param:limit"],
      ["pass", "would:block:no would:rate_limit:limit"],
    ]);
    expect(effects.counted).toContain("would block rule:no");
  });

  test("does not say of what changes nothing that it would change something", async () => {
    const { client, server, events } = await stageRules(
      rules(`- id: clean
  conditions: [{ method_equals: tools/call }]
  actions: [{ transform: redact }]
- id: less
  conditions: [{ method_equals: tools/list }, { tool_matches: ^admin_ }]
  actions: [hide]`),
      { observe: true },
    );
    await client(call(1, "x", { text: "a" }), call(2, "x", { text: "AKIAIOSFODNN7EXAMPLE" }));
    await client(line({ id: 3, method: "tools/list" }), line({ id: 4, method: "tools/list" }));
    await server(result(3, { tools: [{ name: "a" }] }), result(4, { tools: [{ name: "admin_a" }] }));
    const notes = events.map(({ note }) => note).filter((note) => note !== null);
    expect(notes).toEqual(["would:transform:clean", "would:hide:less"]);
  });

  test("may be said of one rule", async () => {
    const { client, heard } = await stageRules(rules(TEXT.replace("id: no", "id: no\n  enabled: observe")));
    await client(call(1, "x"), call(2, "x"));
    expect(heard("server")).toContain('"a":1');
    expect(heard("client")).toContain("Rate limit exceeded");
  });
});

function asks(id: number, method: string): string {
  return result(id, {
    resultType: "input_required",
    inputRequests: { k: { method, params: { message: "long" } } },
    requestState: "s",
  });
}

describe("messages inside messages", () => {
  const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };

  test("a question inside a result is judged as the request it is", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: no-sampling
  conditions: [{ method_equals: sampling/createMessage }]
  actions: [{ block: "no sampling" }]
- id: short
  conditions: [{ method_equals: elicitation/create }]
  actions: [{ set_param: { field: message, value: "?" } }]`),
    );
    await client(call(1, "t", {}, { _meta: META }), call(2, "t", {}, { _meta: META }));
    heard("server");
    await server(asks(1, "sampling/createMessage"), asks(2, "elicitation/create"));
    const [first, second] = heard("client").trimEnd().split("\n");
    expect(first).toContain('"id":1,"error":{"code":-32001,"message":"no sampling"');
    expect(second).toBe(asks(2, "elicitation/create").trimEnd().replace('"long"', '"?"'));
  });

  test("allow is for one message, and neither for those inside of it nor for those beside it", async () => {
    const both = result(1, {
      resultType: "input_required",
      inputRequests: { a: { method: "elicitation/create" }, b: { method: "sampling/createMessage" } },
      requestState: "s",
    });
    for (const allowed of ["{ method_equals: elicitation/create }", "{ method_equals: tools/call }"]) {
      const { client, server, heard } = await stageRules(
        rules(`- id: fine
  priority: 1
  direction: down
  conditions: [${allowed}]
  actions: [allow]
- id: no-sampling
  conditions: [{ method_equals: sampling/createMessage }]
  actions: [{ block: "no sampling" }]`),
      );
      await client(call(1, "t", {}, { _meta: META }));
      await server(both);
      expect(heard("client")).toContain('"id":1,"error":{"code":-32001,"message":"no sampling"');
    }
  });

  test("the older era's own requests are judged by the same rule", async () => {
    const { server, heard } = await stageRules(
      rules(`- id: no-sampling
  conditions: [{ method_equals: sampling/createMessage }]
  actions: [{ block: "no sampling" }]`),
    );
    await server(line({ id: 1, method: "sampling/createMessage", params: {} }));
    expect(heard("client")).toBe("");
    expect(heard("server")).toContain("no sampling");
  });

  test("a call that is taken up again is judged anew, and charged once", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: limit
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: k, limit: 1, window: 1m } }]`),
    );
    await client(call(1, "t", { a: 1 }, { _meta: META }));
    await server(result(1, { resultType: "input_required", inputRequests: {}, requestState: "s" }));
    heard("server");
    heard("client");
    const again = (id: number, args: object): string =>
      call(id, "t", args, { _meta: META, requestState: "s", inputResponses: { k: {} } });
    await client(again(2, { a: 2 }));
    expect(heard("client")).toContain("Rate limit exceeded"); // other arguments
    await client(again(3, { a: 1 }));
    expect(heard("server")).toBe(again(3, { a: 1 }));
    await client(again(4, { a: 1 }));
    expect(heard("client")).toContain('"id":4,"error"'); // once is once
  });

  test("what a task brings is the answer of the call that started it", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: no-secret
  conditions: [{ tool_matches: "^read$" }, { result_matches: { field: "content[0].text", pattern: "secret" } }]
  actions: [{ block: "a secret" }]`),
    );
    await client(call(1, "read", {}, { task: {} }));
    await server(result(1, { task: { taskId: "t1", status: "working" } }));
    await client(line({ id: 2, method: "tasks/result", params: { taskId: "t1" } }));
    await server(result(2, { content: [{ type: "text", text: "secret" }] }));
    expect(heard("client").trimEnd().split("\n").at(-1)).toContain("a secret");
  });
});

function read(id: number, uri: string): string {
  return line({ id, method: "resources/read", params: { uri } });
}

describe("method interceptors", () => {
  const POLICY = `interceptor:
  method_interceptors:
    tools/call: { class: ToolCallInterceptor, config: { allowed_tools: [read_file], rate_limit: { per_minute: 2 } } }
    resources/read: { class: ResourceAccessInterceptor, config: { allowed_paths: [/workspace, /tmp], deny_patterns: ["*.key"] } }
`;

  test("ToolCallInterceptor says what is not allowed, and what is too much", async () => {
    const { client, heard, wait } = await stageRules(POLICY);
    await client(call(1, "rm"));
    expect(JSON.parse(heard("client"))).toMatchObject({ error: { code: -32001, message: "Tool 'rm' not allowed" } });
    await client(call(2, "read_file"), call(3, "read_file"), call(4, "read_file"));
    expect(heard("client")).toContain('"id":4,"error":{"code":-32001,"message":"Rate limit exceeded"');
    wait(60_000);
    await client(call(5, "read_file"));
    expect(heard("server")).toContain('"id":5');
  });

  test("ResourceAccessInterceptor resolves paths before it compares them", async () => {
    const { client, heard } = await stageRules(POLICY);
    const bad = [
      "file:///etc/passwd",
      "file:///workspace/../etc/passwd",
      "file:///workspace/%2e%2e/etc/x",
      "file:///workspace/a.key",
      "https://x/workspace",
    ];
    for (const [nth, uri] of bad.entries()) await client(read(nth, uri));
    expect(heard("server")).toBe("");
    expect(heard("client").trimEnd().split("\n")).toHaveLength(bad.length);
    await client(read(10, "file:///workspace/a/../b.txt"));
    expect(heard("server")).toContain('"id":10');
  });

  test("one of the user's own has a hook for what is asked and one for what is answered", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-own-"));
    writeFileSync(
      join(folder, "own.mjs"),
      `export class Own {
        constructor(options) { this.word = options.word; }
        interceptRequest(params) { if (params.name === this.word) return { action: "block", reason: "no " + this.word, code: -32099 }; }
        async interceptResponse(result) { return { action: "modify", result: { ...result, seen: true } }; }
      }`,
    );
    const { client, server, heard } = await stageRules(
      `interceptor: { method_interceptors: { tools/call: { module: ./own.mjs, class: Own, config: { word: rm } } } }\n`,
      { folder },
    );
    await client(call(1, "rm"), call(2, "ls"));
    expect(heard("client")).toContain('"code":-32099,"message":"no rm"');
    expect(heard("server")).toBe(call(2, "ls"));
    await server('{"jsonrpc":"2.0","id":2,"result":{"big":12345678901234567890 }}\n');
    await pause();
    expect(heard("client")).toBe('{"jsonrpc":"2.0","id":2,"result":{"big":12345678901234567890,"seen":true }}\n');
  });
});

function one(intercept: (message: Intercepted) => unknown): Interceptor {
  return { intercept: intercept as Interceptor["intercept"] };
}

describe("interceptors", () => {
  test("see every message, remember what they note, and change what they return", async () => {
    const { client, server, heard } = await stageRules("", {
      own: [
        one((message) => {
          const count = Number(message.session.get("count") ?? 0) + 1;
          message.session.set("count", count);
          if (message.kind === "request") return { action: "modify", params: { ...(message.params as object), count } };
          return message.kind === "result" ? { action: "allow" } : undefined;
        }),
      ],
    });
    await client(call(1, "x"));
    await server(result(1, {}));
    await client(call(2, "x"));
    expect(heard("server")).toBe(call(1, "x", {}, { count: 1 }) + call(2, "x", {}, { count: 3 }));
    expect(heard("client")).toBe(result(1, {}));
  });

  test("one that throws, or returns nonsense, or hangs, blocks", async () => {
    for (const intercept of [
      () => {
        throw new Error("oops");
      },
      () => ({ action: "perhaps" }),
      () => Promise.reject(new Error("oops")),
      () => new Promise(() => {}),
      () => ({ action: "modify", params: [] }),
    ]) {
      const { client, heard } = await stageRules("interceptor: { chain: { timeout: 10ms } }\n", {
        own: [one(intercept)],
      });
      await client(call(1, "x"));
      await pause();
      expect(heard("server")).toBe("");
      expect(heard("client")).toContain("Blocked by policy");
    }
  });

  test("options that nobody would hear of are a mistake at the start", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-own-"));
    writeFileSync(join(folder, "own.mjs"), "export default function own() {}");
    const plain = "interceptor: { interceptors: [{ module: ./own.mjs }] }\n";
    const withOptions = plain.replace(" }]", ", options: { a: 1 } }]");
    await expect(stageRules(withOptions, { folder })).rejects.toThrow("options are for classes");
    await expect(stageRules(plain, { folder })).resolves.toBeDefined();
  });

  test("in parallel they look at the same message at once", async () => {
    const seen: string[] = [];
    const slow = (name: string) =>
      one(async () => {
        seen.push(`${name} begins`);
        await pause();
        seen.push(`${name} ends`);
      });
    const { client, heard } = await stageRules("interceptor: { chain: { parallel: true } }\n", {
      own: [slow("a"), slow("b")],
    });
    await client(call(1, "x"));
    await pause();
    await pause();
    expect(seen).toEqual(["a begins", "b begins", "a ends", "b ends"]);
    expect(heard("server")).toBe(call(1, "x"));
  });
});

test("mode: transport and enabled: false run nothing", async () => {
  for (const key of ["mode: transport", "enabled: false"]) {
    const { chain } = await stageRules(
      `${rules(`- id: no
  conditions: [{ method_equals: tools/call }]
  actions: [{ block: "no" }]`)}  ${key}\n`,
    );
    expect(chain).toBeNull();
  }
});

test("rules see who the client is and how many calls there were", async () => {
  const { client, heard } = await stageRules(
    rules(`- id: not-you
  conditions: [{ client_matches: "^bad" }, { method_equals: tools/call }]
  actions: [{ block: "you" }]
- id: enough
  conditions: [{ method_equals: tools/call }, { calls_so_far: { tool: x, greater_than: 1 } }]
  actions: [{ block: "enough" }]
- id: who
  conditions: [{ identity_matches: "^eve$" }, { method_equals: resources/list }]
  actions: [{ block: "eve" }]`),
    { owner: { identity: "eve", scope: null, audience: null } },
  );
  await client(call(1, "x"), call(2, "x"), call(3, "x"), line({ id: 4, method: "resources/list" }));
  expect(heard("client").match(/"message":"[^"]*"/g)).toEqual(['"message":"enough"', '"message":"eve"']);
  await client(
    line({ id: 5, method: "initialize", params: { clientInfo: { name: "bad one", version: "1" } } }),
    call(6, "y"),
  );
  expect(heard("client")).toContain('"you"');
});

function calledBy(name: string): object {
  return {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name, version: "1" },
    },
  };
}

test("without a handshake a client's name is known when its answer comes, too", async () => {
  const { client, server, heard } = await stageRules(
    rules(`- id: not-you
  conditions: [{ client_matches: "^bad" }, { result_exists: content }]
  actions: [{ block: "not for you" }]`),
  );
  await client(call(1, "x", {}, calledBy("bad one")), call(2, "x", {}, calledBy("good one")));
  await server(result(1, { content: [] }), result(2, { content: [] }));
  const [bad, good] = heard("client").trimEnd().split("\n");
  expect(bad).toContain("not for you");
  expect(`${good}\n`).toBe(result(2, { content: [] }));
});

test("an answer that was kept is given only where no rule refuses the request", async () => {
  const text = rules(`- id: keep
  priority: 9
  conditions: [{ method_equals: resources/list }]
  actions: [{ cache: { key: k, ttl: 1h, scope: shared } }]
- id: no-guests
  conditions: [{ method_equals: resources/list }, { identity_matches: "^guest" }]
  actions: [{ block: "no guests" }]`);
  const admin = await stageRules(text, { owner: { identity: "admin", scope: null, audience: null } });
  await admin.client(line({ id: 1, method: "resources/list" }));
  await admin.server(result(1, { resources: [] }));
  admin.heard("server");
  await admin.client(line({ id: 2, method: "resources/list" }));
  expect(admin.heard("server")).toBe("");
  const guest = await stageRules(text, {
    owner: { identity: "guest", scope: null, audience: null },
    state: admin.state,
  });
  await guest.client(line({ id: 3, method: "resources/list" }));
  expect(guest.heard("client")).toContain("no guests");
});
