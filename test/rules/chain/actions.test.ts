import { describe, expect, test } from "vitest";
import { KIND_NAMES } from "../../../src/rules/sensitive/kinds.ts";
import { call, line, result, rules, stageRules } from "../../support/rules.ts";

const BLOCK_DELETE = rules(`- id: no-deletes
  conditions:
    - method_equals: tools/call
    - param_in: { field: name, values: [delete_file] }
  actions:
    - block: "No deletes"
    - log: { level: warn, message: "tried \${tool}" }`);

describe("redact", () => {
  const REDACT = rules(`- id: falcon
  direction: down
  conditions: [{ method_equals: tools/call }]
  actions: [{ transform: { redact: { kinds: [secrets], patterns: ["(?i)project falcon"] } } }]`);

  test("looks through answers of megabytes, and finds what stands at the edge of a piece", async () => {
    const { client, server, heard } = await stageRules(REDACT);
    const text = `${"lorem ipsum ".repeat(100_000)}Project Falcon${" dolor sit".repeat(100_000)}`;
    await client(call(1, "read"));
    await server(result(1, { content: [{ type: "text", text }] }));
    expect(heard("client")).toBe(
      result(1, { content: [{ type: "text", text: text.replace("Project Falcon", "[redacted]") }] }),
    );
  });

  test("says why where there is too much to look through", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: slow
  direction: down
  conditions: [{ method_equals: tools/call }]
  actions: [{ transform: { redact: { patterns: ["a(?s:.*)b|a"] } } }]`),
    );
    await client(call(1, "read"));
    await server(result(1, { text: "a".repeat(300_000) }));
    expect(heard("client")).toMatch(
      /"message":"Blocked by policy: it cannot be judged: it takes more than \d+ steps of work; send or ask for less at a time"/,
    );
  });
});

describe("block", () => {
  test("answers a request, with the rule's name, and lets others pass byte for byte", async () => {
    const { client, heard, effects } = await stageRules(BLOCK_DELETE);
    await client(call(1, "delete_file"));
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"No deletes","data":{"rule":"no-deletes","action":"block"}}}\n',
    );
    expect(heard("server")).toBe("");
    expect(effects.said).toEqual(["warn rule:no-deletes tried delete_file"]);
    const odd = '{ "method":"tools/call" ,"id":2,"params":{"name":"read_file","n":1.0},"jsonrpc":"2.0"}\n';
    await client(odd);
    expect(heard("server")).toBe(odd);
  });

  test("says what its reason asks for, with nothing in it that could deceive, and not too much of it", async () => {
    const { client, heard } = await stageRules(
      rules(`- id: no
  conditions: [{ tool_matches: ^rm }]
  actions: [{ block: "\${tool} of \${param.arguments.path} by \${identity}: $\${ no" }]
- id: gone
  conditions: [{ tool_matches: ^old }]
  actions: [{ inject_error: { code: -32050, message: "\${tool} is gone: \${param.arguments}" } }]`),
    );
    const said = async (message: string): Promise<string> => {
      await client(message);
      return (JSON.parse(heard("client")) as { error: { message: string } }).error.message;
    };
    expect(await said(call(1, "rm", { path: "/a\u202e\nb" }))).toBe("rm of /a\\u202e\\u000ab by : ${ no");
    expect(await said(call(2, "rm", { path: "x".repeat(5000) }))).toHaveLength(218);
    expect(await said(call(3, "old_one", { b: 1, a: [2] }))).toBe('old_one is gone: {"a":[2],"b":1}');
  });

  test("knows the request also when an answer is refused, and refuses where the request was not kept", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: no
  conditions: [{ method_equals: tools/call }, { result_equals: { field: isError, value: true } }]
  actions: [{ block: "\${param.arguments.path} failed" }]`),
    );
    await client(call(1, "read", { path: "/a" }));
    await server(result(1, { isError: true }));
    expect(heard("client")).toContain('"message":"/a failed"');
    await client(call(2, "read", { path: "/a", large: "x".repeat(2_000_000) }));
    await server(result(2, { isError: true }));
    expect(heard("client")).toContain('"message":" failed"');
  });

  test("with an unknown variable in its reason is a mistake in the file", async () => {
    for (const action of ['block: "no ${tol}"', 'inject_error: { code: 1, message: "${param}" }'])
      await expect(stageRules(rules(`- { id: a, actions: [{ ${action} }] }`))).rejects.toThrow("Unknown variable");
  });

  test("drops a notification", async () => {
    const { client, heard, events } = await stageRules(
      rules(`- id: quiet
  conditions: [{ method_equals: notifications/roots/list_changed }]
  actions: [{ block: "no" }]`),
    );
    await client(line({ method: "notifications/roots/list_changed" }));
    expect(heard("server") + heard("client")).toBe("");
    expect(events.at(-1)).toMatchObject({ verdict: "drop", rule: "rule:quiet" });
  });

  test("makes an error of an answer, under the same id", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: leak
  conditions: [{ result_matches: { field: "content[0].text", pattern: "secret" } }]
  actions: [{ block: "a secret" }]`),
    );
    await client(call("a", "read"));
    await server(result("a", { content: [{ type: "text", text: "the secret" }] }));
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":"a","error":{"code":-32001,"message":"a secret","data":{"rule":"leak","action":"block"}}}\n',
    );
    await client(call("b", "read"));
    const fine = result("b", { content: [{ type: "text", text: "fine" }] });
    await server(fine);
    expect(heard("client")).toBe(fine);
  });
});

describe("inject_error and set_result", () => {
  test("answer a request here", async () => {
    const { client, heard } = await stageRules(
      rules(`- id: down
  conditions: [{ tool_matches: "^old_" }]
  actions: [{ inject_error: { code: -32050, message: "gone", data: { see: "new" } } }]
- id: mock
  conditions: [{ tool_matches: "^mock_" }]
  actions:
    - set_result: { field: "content[0]", value: { type: text, text: "hello" } }
    - set_result: { field: isError, value: false }`),
    );
    await client(call(1, "old_one"), call(2, "mock_one"));
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"gone","data":{"see":"new"}}}\n' +
        '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hello"}],"isError":false}}\n',
    );
    expect(heard("server")).toBe("");
  });

  test("change an answer", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: hide-total
  conditions: [{ result_exists: total }]
  actions: [{ set_result: { field: total, value: 0 } }]`),
    );
    await client(call(1, "count"));
    await server('{"jsonrpc":"2.0","id":1,"result":{"a":1.0, "total" : 99999999999999999999}}\n');
    expect(heard("client")).toBe('{"jsonrpc":"2.0","id":1,"result":{"a":1.0, "total" : 0}}\n');
  });
});

describe("edits of params", () => {
  test("touch only what they mean", async () => {
    const { client, heard, events } = await stageRules(
      rules(`- id: safe
  conditions: [{ tool_matches: "^run$" }]
  actions:
    - set_param: { field: arguments.dry_run, value: true }
    - remove_param: arguments.force`),
    );
    await client(
      '{"jsonrpc":"2.0", "id": 7,"method":"tools/call","params":{"name":"run","arguments":{"x":1e2, "force":true}}}\n',
    );
    expect(heard("server")).toBe(
      '{"jsonrpc":"2.0", "id": 7,"method":"tools/call","params":{"name":"run","arguments":{"x":1e2, "dry_run":true}}}\n',
    );
    expect(events.at(-1)).toMatchObject({ verdict: "change", rule: "rule:safe" });
  });

  test("of a tool's name put the call before the rules of the other tool, those that follow", async () => {
    const { client, heard } = await stageRules(
      rules(`- id: alias
  priority: 10
  conditions: [{ tool_matches: "^rm$" }]
  actions: [{ set_param: { field: name, value: delete } }]
- id: no-delete
  conditions: [{ method_equals: tools/call }, { param_equals: { field: name, value: delete } }]
  actions: [{ block: "no" }]`),
    );
    await client(call(1, "rm"));
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain('"rule":"no-delete"');
  });
});

test("transform redacts every kind that a file may name", async () => {
  for (const kind of KIND_NAMES) {
    const { client, heard } = await stageRules(
      rules(`- id: clean
  conditions: [{ method_equals: tools/call }]
  actions: [{ transform: { redact: { kinds: [${kind}], by: "" } } }]`),
    );
    await client(call(1, "x", { text: "4111 1111 1111 1111, 192.0.2.1" }));
    const text = { card: ", 192.0.2.1", credit_card: ", 192.0.2.1", personal: ", ", ip: CARD, ipv4: CARD };
    expect(heard("server")).toBe(call(1, "x", { text: (text as Record<string, string>)[kind] ?? `${CARD}192.0.2.1` }));
  }
});

const CARD = "4111 1111 1111 1111, ";

describe("rate_limit", () => {
  const LIMIT = rules(`- id: slow
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: "\${session_id}:\${tool}", limit: 2, window: 60s } }]`);

  test("lets two through and refuses the third, with the time to wait", async () => {
    const { client, heard, wait } = await stageRules(LIMIT);
    await client(call(1, "a"));
    wait(10_000);
    await client(call(2, "a"), call(3, "a"), call(4, "b"));
    expect(heard("server").trimEnd().split("\n")).toHaveLength(3);
    expect(JSON.parse(heard("client"))).toEqual({
      jsonrpc: "2.0",
      id: 3,
      error: {
        code: -32001,
        message: "Rate limit exceeded",
        data: { rule: "slow", action: "rate_limit", retry_after: 50 },
      },
    });
    wait(50_000);
    await client(call(5, "a"), call(6, "a"));
    expect(heard("server")).toContain('"id":5');
    expect(heard("client")).toContain('"id":6');
  });

  test("two limits of a rule count apart", async () => {
    const { client, heard, wait } = await stageRules(
      rules(`- id: slow
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: k, limit: 1, window: 1s } }, { rate_limit: { key: k, limit: 2, window: 1m } }]`),
    );
    for (const id of [1, 2, 3]) {
      await client(call(id, "x"));
      wait(1000);
    }
    expect(heard("server")).toBe(call(1, "x") + call(2, "x"));
    expect(heard("client")).toContain('"retry_after":58');
  });

  test("a name in capitals is no fresh limit", async () => {
    const { client, heard } = await stageRules(LIMIT);
    await client(call(1, "read"), call(2, "READ"), call(3, "Read"));
    expect(heard("client")).toContain("Rate limit exceeded");
  });
});

describe("cache", () => {
  const CACHE = rules(`- id: keep
  conditions: [{ method_in: [resources/list] }]
  actions: [{ cache: { key: "\${method}:\${params_hash}", ttl: 300s } }]`);

  test("answers again with the asker's own id, for as long as it may", async () => {
    const { client, server, heard, wait } = await stageRules(CACHE);
    await client(line({ id: 1, method: "resources/list", params: {} }));
    await server('{"jsonrpc":"2.0","id":1,"result":{"resources":[ {"uri":"a:b","name":"n", "size":1.0} ]}}\n');
    heard("client");
    heard("server");
    await client('{"jsonrpc":"2.0","id":"\\u0061","method":"resources/list","params":{}}\n');
    expect(heard("server")).toBe("");
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":"\\u0061","result":{"resources":[ {"uri":"a:b","name":"n", "size":1.0} ]}}\n',
    );
    await client(line({ id: 2, method: "resources/list", params: { cursor: "x" } }));
    expect(heard("server")).toContain('"id":2');
    wait(300_000);
    await client(line({ id: 3, method: "resources/list", params: {} }));
    expect(heard("server")).toContain('"id":3');
  });

  test("keeps no error, and gives nobody another's answer", async () => {
    const first = await stageRules(CACHE);
    await first.client(line({ id: 1, method: "resources/list" }));
    await first.server(line({ id: 1, error: { code: -1, message: "no" } }));
    await first.client(line({ id: 2, method: "resources/list" }));
    await first.server(result(2, { resources: [] }));
    first.heard("server");
    await first.client(line({ id: 3, method: "resources/list" }));
    expect(first.heard("server")).toBe("");
    const second = await stageRules(CACHE, { state: first.state });
    await second.client(line({ id: 1, method: "resources/list" }));
    expect(second.heard("server")).toContain('"id":1');
  });

  test("what comes from memory is judged as what comes from the server", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: keep
  conditions: [{ method_in: [resources/list] }]
  actions: [{ cache: { key: "\${method}", ttl: 300s } }]
- id: cut
  conditions: [{ method_equals: resources/list }, { result_exists: secret }]
  actions: [{ set_result: { field: secret, value: null } }]`),
    );
    await client(line({ id: 1, method: "resources/list" }));
    await server(result(1, { resources: [], secret: 1 }));
    await client(line({ id: 2, method: "resources/list" }));
    expect(heard("client")).toBe(
      result(1, { resources: [], secret: null }) + result(2, { resources: [], secret: null }),
    );
  });
});

describe("delay", () => {
  test("holds one message, and the others go on", async () => {
    const { client, server, heard, effects } = await stageRules(
      rules(`- id: wait
  conditions: [{ tool_matches: "^slow$" }]
  actions: [{ delay: 30ms }]`),
    );
    await client(call(1, "slow"), call(2, "fast"));
    expect(heard("server")).toBe(call(2, "fast"));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(heard("server")).toBe(call(1, "slow"));
    expect(effects.slept).toEqual([30]);
    await server(result(1, {}));
    expect(heard("client")).toBe(result(1, {}));
  });

  test("one that was withdrawn meanwhile goes nowhere, and neither does its cancellation", async () => {
    const { client, heard } = await stageRules(
      rules(`- id: wait
  conditions: [{ tool_matches: "^slow$" }]
  actions: [{ delay: 30ms }]`),
    );
    await client(call(1, "slow"), line({ method: "notifications/cancelled", params: { requestId: 1 } }));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(heard("server") + heard("client")).toBe("");
  });

  test("an answer that is held is given once, and a second one is none", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: wait
  conditions: [{ result_exists: late }]
  actions: [{ delay: 30ms }]`),
    );
    await client(call(1, "x"));
    await server(result(1, { late: 1 }), result(1, { late: 2 }));
    expect(heard("client")).toBe("");
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(heard("client")).toBe(result(1, { late: 1 }));
  });

  test("more than there is room for is refused", async () => {
    const { client, heard } = await stageRules(
      rules(`- id: wait
  conditions: [{ tool_matches: "^slow$" }]
  actions: [{ delay: 30ms }]`),
      { maxParkedBytes: 120 },
    );
    await client(call(1, "slow"), call(2, "slow"));
    expect(heard("client")).toContain('"id":2,"error":{"code":-32000');
  });
});

describe("webhook and run_script", () => {
  const ASK = rules(`- id: ask
  conditions: [{ method_equals: tools/call }]
  actions: [{ webhook: { url: "https://example.com/hook", include_message: true, wait: true } }]`);

  test("decide", async () => {
    const { client, heard } = await stageRules(ASK, {
      hook: (_, body) => {
        const { message } = JSON.parse(body) as { message: { params: { name: string } } };
        const verdicts: Record<string, object> = {
          good: { action: "allow" },
          bad: { action: "block", reason: "not today" },
          odd: { action: "modify", message: { params: { name: "even", arguments: {} } } },
          broken: { verdict: "?" },
        };
        return { body: Buffer.from(JSON.stringify(verdicts[message.params.name])) };
      },
    });
    await client(call(1, "good"), call(2, "bad"), call(3, "odd"), call(4, "broken"));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(heard("server")).toBe(call(1, "good") + call(3, "even"));
    const answers = heard("client")
      .trimEnd()
      .split("\n")
      .map((each) => JSON.parse(each) as { id: number; error: object });
    expect(answers.find(({ id }) => id === 2)?.error).toEqual({
      code: -32001,
      message: "not today",
      data: { rule: "ask", action: "webhook" },
    });
    expect(answers.find(({ id }) => id === 4)?.error).toMatchObject({ message: "Blocked by policy" });
  });

  test("one that cannot be reached, or takes too long, blocks; on_error says otherwise", async () => {
    const blocked = await stageRules(ASK);
    await blocked.client(call(1, "x"));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(blocked.heard("client")).toContain("Blocked by policy");
    const slow = rules(
      `- id: ask
  conditions: [{ method_equals: tools/call }]
  actions: [{ run_script: { path: ./x.sh, timeout: 1s } }]`,
      "{ timeout: 20ms, on_error: allow }",
    );
    const allowed = await stageRules(slow, { hook: () => new Promise(() => {}) });
    await allowed.client(call(1, "x"));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(allowed.heard("server")).toBe(call(1, "x"));
  });

  test("one that is only told holds nothing up", async () => {
    const { client, heard, effects } = await stageRules(
      rules(`- id: tell
  conditions: [{ method_equals: tools/call }]
  actions: [{ webhook: { url: "https://example.com/hook", include_message: false } }]`),
      { server: "npx one" },
    );
    await client(call(1, "x"));
    expect(heard("server")).toBe(call(1, "x"));
    expect(JSON.parse(effects.told[0])).toMatchObject({
      rule: "tell",
      method: "tools/call",
      tool: "x",
      server: "npx one",
    });
    expect(effects.told[0]).not.toContain("message");
  });
});

test("hide takes elements out of a list that the conditions hold for", async () => {
  const { client, server, heard } = await stageRules(
    rules(`- id: hide-destructive
  conditions:
    - method_equals: tools/list
    - any: [{ result_equals: { field: annotations.destructiveHint, value: true } }, { tool_matches: "^admin_" }]
  actions: [hide]`),
  );
  await client(line({ id: 1, method: "tools/list" }));
  await server(
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}, {"name":"admin_x"},{"name":"d","annotations":{"destructiveHint":true}}, {"name":"z" }]}}\n',
  );
  expect(heard("client")).toBe('{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}, {"name":"z" }]}}\n');
});

test("metric and fork are told, and the message passes", async () => {
  const { client, server, heard, effects } = await stageRules(
    rules(`- id: both
  conditions: [{ method_equals: tools/call }]
  actions: [{ metric: { name: calls, value: 2 } }, { fork: { copies: 1 } }]`),
  );
  await client(call(1, "x"));
  expect(heard("server")).toBe(call(1, "x"));
  expect(effects.metrics).toEqual([["calls", 2]]);
  await server(result(1, { a: 1 }));
  expect(effects.forked).toEqual([`both ${call(1, "x").trimEnd()}`, result(1, { a: 1 }).trimEnd()]);
});

test("set_state notes in the session what state_equals and expressions read", async () => {
  const { client, heard } = await stageRules(
    rules(`- id: note
  conditions: [{ tool_matches: "^read_secret$" }]
  actions: [{ set_state: { key: tainted, value: { by: secret } } }]
- id: no-mail
  conditions: [{ tool_matches: "^send_" }, { state_equals: { key: tainted, value: { by: "secret" } } }]
  actions: [{ block: "it has read secrets" }]
- id: no-post
  conditions: [{ tool_matches: "^post_" }, { cel: "has(session.state.tainted)" }]
  actions: [{ block: "nor this" }]
- id: clean
  conditions: [{ tool_matches: "^forget$" }]
  actions: [{ set_state: { key: tainted, value: null } }]`),
  );
  await client(call(1, "send_mail"), call(2, "read_secret"), call(3, "send_mail"), call(4, "post_it"));
  expect(heard("server")).toBe(call(1, "send_mail") + call(2, "read_secret"));
  expect(heard("client").match(/"message":"[^"]*"/g)).toEqual([
    '"message":"it has read secrets"',
    '"message":"nor this"',
  ]);
  await client(call(5, "forget"), call(6, "send_mail"));
  expect(heard("server")).toBe(call(5, "forget") + call(6, "send_mail"));
});
