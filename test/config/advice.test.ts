import { describe, expect, test } from "vitest";
import { METHODS } from "../../src/message/methods.ts";
import { complaints, read, withRule } from "./reading.ts";

describe("a method that is like a known one is a mistake", () => {
  test.each([
    ["tool/call", "tools/call"],
    ["tools/calls", "tools/call"],
    ["tool/calls", "tools/call"],
    ["tools.call", "tools/call"],
    ["tools_call", "tools/call"],
    ["toolsCall", "tools/call"],
    ["call_tool", "tools/call"],
    ["callTool", "tools/call"],
    ["tools/clal", "tools/call"],
    ["list_tools", "tools/list"],
    ["toolcall", "tools/call"],
    ["resource/read", "resources/read"],
    ["ressources/read", "resources/read"],
    ["prompt/get", "prompts/get"],
    ["initialise", "initialize"],
    ["sampling/create_message", "sampling/createMessage"],
    ["elicitation/created", "elicitation/create"],
    ["notification/cancelled", "notifications/cancelled"],
    ["notifications/canceled", "notifications/cancelled"],
  ])("%s is %s", (name, known) => {
    const expected = `unknown-method: There is no method ${name} → Write ${known}`;
    expect(complaints(withRule(`[{ method_equals: ${name} }]`))).toEqual([`4:37 ${expected}`]);
    expect(complaints(withRule(`[{ method_in: [tools/list, ${name}] }]`))[0]).toContain(expected);
    expect(complaints(withRule(`[{ not: { method_equals: ${name} } }]`))[0]).toContain(expected);
    const interceptors = `interceptor:\n  method_interceptors:\n    ${name}: { module: ./a.mjs }\n`;
    expect(complaints(interceptors)[0]).toContain(expected);
  });

  test.each(["expensive/run", "tasks/set", "tools/run", "acme/tools", "resources/load", "pong", "x", "日本"])(
    "%s may be a vendor's, and is a warning",
    (name) => {
      const text = withRule(`[{ method_equals: ${name} }]`);
      expect(read(text).policy).not.toBeNull();
      expect(complaints(text)).toEqual([
        `4:37 unknown-method: The protocol has no method ${name} → Leave it if a server of yours has it`,
      ]);
    },
  );

  test("a part of a name, or a pattern, that fits no method is a warning", () => {
    for (const condition of ["method_starts_with: tool/", "method_ends_with: /calls", "method_matches: '^tool/'"]) {
      const text = withRule(`[{ ${condition} }]`);
      expect(read(text).policy).not.toBeNull();
      expect(complaints(text)[0]).toMatch(/unknown-method: method_\w+ matches no method of the protocol/);
    }
  });

  test("no known method is taken for another", () => {
    for (const { name } of METHODS)
      expect(complaints(withRule(`[{ method_equals: ${name} }, { client_matches: x }]`)), name).toEqual([]);
  });
});

describe("a field that no message of the method has", () => {
  test.each([
    ["path", "arguments.path"],
    ["/path", "/arguments/path"],
    ["file.name", "arguments.file.name"],
    ["argument.path", "arguments.argument.path"],
    ["tool", "name"],
    ["tool_name", "name"],
  ])("%s is a mistake for calls: %s is meant", (field, meant) => {
    const expected = `unknown-member: The params of tools/call have no member`;
    for (const conditions of [
      `[{ method_equals: tools/call }, { param_exists: ${field} }]`,
      `[{ method_equals: tools/call }, { not: { param_within: { field: ${field}, paths: [/a] } } }]`,
      `[{ tool_matches: x }, { any: [{ param_equals: { field: ${field}, value: 1 } }, { direction: up }] }]`,
      `[{ tool_matches: x }, { touches: { globs: [.env], fields: [${field}] } }]`,
    ]) {
      const [first] = complaints(withRule(conditions));
      expect(first).toContain(expected);
      expect(first).toContain(`→ Write ${meant}`);
      expect(read(withRule(conditions)).policy).toBeNull();
    }
  });

  test("points at the condition, however deep it is", () => {
    const conditions = "[{ method_equals: tools/call }, { not: { any: [{ all: [{ param_exists: path }] }] } }]";
    const [first] = complaints(withRule(conditions));
    expect(first).toMatch(/^4:76 /);
  });

  test("is a warning for other methods, and in what is done", () => {
    const warned = [
      withRule("[{ method_equals: resources/read }, { param_exists: url }]"),
      withRule("[{ method_equals: tools/call }]", "[{ set_param: { field: path, value: 1 } }]"),
      withRule("[{ method_equals: tools/call }]", '[{ log: { message: "${param.path}" } }]'),
      withRule("[{ method_equals: tools/call }]", '[{ block: "${param.path}" }]'),
      withRule("[{ method_equals: tools/call }]", '[{ inject_error: { code: 1, message: "${param.path}" } }]'),
      withRule("[{ tool_matches: x }]", '[{ rate_limit: { key: "${param.path}", limit: 1, window: 1s } }]'),
    ];
    for (const text of warned) {
      expect(read(text).policy).not.toBeNull();
      expect(complaints(text)[0]).toMatch(/unknown-member: The params of \S+ have no member (url|path) → Write /);
    }
    expect(complaints(warned[0])[0]).toContain("Write uri");
  });

  test.each([
    "[{ method_equals: tools/call }, { param_exists: arguments.path }]",
    "[{ method_equals: tools/call }, { param_exists: _meta.x }]",
    "[{ method_equals: tools/call }, { param_exists: task.ttl }]",
    "[{ method_in: [tools/call, resources/read] }, { param_exists: uri }]",
    "[{ method_starts_with: tools/ }, { param_exists: anything }]",
    "[{ param_exists: anything }]",
    "[{ method_equals: notifications/tasks/status }, { param_exists: anything }]",
    "[{ method_equals: sampling/createMessage }, { param_exists: messages }]",
  ])("%s is fine", (conditions) => {
    expect(complaints(withRule(conditions))).toEqual([]);
  });
});

describe("a rule that refuses the handshake is a warning", () => {
  test.each([
    "[]",
    "[{ direction: up }]",
    "[{ method_equals: initialize }]",
    "[{ method_in: [ping, initialize] }]",
    "[{ method_matches: '.' }]",
    "[{ not: { method_equals: tools/call } }]",
    "[{ method_equals: server/discover }]",
  ])("%s", (conditions) => {
    for (const action of ["{ block: no }", "{ inject_error: { code: 1, message: no } }"]) {
      const text = withRule(conditions, `[${action}]`);
      expect(read(text).policy).not.toBeNull();
      expect(complaints(text)[0]).toMatch(
        /handshake: Rule r refuses (initialize|server\/discover): no client can begin a session/,
      );
    }
  });

  test.each([
    ["that asks who it is", withRule("[{ client_matches: evil }]")],
    ["that looks into it", withRule("[{ method_equals: initialize }, { param_exists: capabilities.sampling }]")],
    ["for what comes down", withRule("[]", undefined, "      direction: down\n")],
    ["that is off", withRule("[]", undefined, "      enabled: false\n")],
    ["that only watches", withRule("[]", undefined, "      enabled: observe\n")],
    ["that does not refuse", withRule("[]", "[{ log: { message: x } }]")],
  ])("not one %s", (_, text) => {
    expect(complaints(text)).toEqual([]);
  });
});

describe("a condition that lets pass what is in doubt is a warning", () => {
  const within = "param_within: { field: arguments.path, paths: [/a, /b] }";
  const touch = 'touches: { globs: ["**/.env"] }';
  const call = "{ method_equals: tools/call }";

  test.each([
    ["param_within to refuse", withRule(`[${call}, { ${within} }]`), "To refuse, use touches: { paths: [/a, /b] }"],
    ["param_within to refuse, inside", withRule(`[${call}, { any: [{ ${within} }] }]`), "use touches"],
    ["param_within to refuse, negated twice", withRule(`[${call}, { not: { not: { ${within} } } }]`), "use touches"],
    [
      "param_within to answer with an error",
      withRule(`[${call}, { ${within} }]`, "[{ inject_error: { code: 1, message: no } }]"),
      "use touches",
    ],
    ["not param_within to allow", withRule(`[${call}, { not: { ${within} } }]`, "[allow]"), "Take out the not"],
    ["not touches to refuse", withRule(`[${call}, { not: { ${touch} } }]`), "Take out the not"],
    ["touches to allow", withRule(`[${call}, { ${touch} }]`, "[allow]"), "To allow, use param_within"],
  ])("%s", (_, text, suggestion) => {
    expect(read(text).policy).not.toBeNull();
    const [first, ...rest] = complaints(text);
    expect(first).toContain("leaky-condition: ");
    expect(first).toContain(suggestion);
    expect(rest).toEqual([]);
  });

  test.each([
    ["not param_within to refuse", withRule(`[${call}, { not: { ${within} } }]`)],
    ["param_within to allow", withRule(`[${call}, { ${within} }]`, "[allow]")],
    ["touches to refuse", withRule(`[${call}, { ${touch} }]`)],
    ["not touches to allow", withRule(`[${call}, { not: { ${touch} } }]`, "[allow]")],
    ["param_within to log", withRule(`[${call}, { ${within} }]`, "[{ log: { message: x } }]")],
    ["one that is off", withRule(`[${call}, { ${within} }]`, undefined, "      enabled: false\n")],
  ])("%s is fine", (_, text) => {
    expect(complaints(text)).toEqual([]);
  });
});

test("a header that names clients has no effect where tokens do", () => {
  for (const auth of ["tokens: t.txt", 'jwks: "https://h/k", issuer: i, audience: a'])
    expect(complaints(`auth: { ${auth}, identity_header: X-User }`)).toEqual([
      expect.stringContaining("no-effect: identity_header has no effect: tokens say who the client is"),
    ]);
  expect(complaints("auth: { identity_header: X-User }")).toEqual([]);
  // Clients add to these, and proxies only append.
  for (const header of ["X-Forwarded-For", "Forwarded", "Via", "Authorization", "Mcp-Name"])
    expect(complaints(`auth: { identity_header: ${header} }`)[0]).toContain("wrong-value");
});

describe("what to write instead is said, and can be written", () => {
  test.each([
    ["upstream: { command: npx -y x . }", "command must be a list of words, not text → Write [npx, -y, x, .]"],
    [
      `upstream: { command: "npx -y @a/b 'my dir'" }`,
      'command must be a list of words, not text → Write [npx, -y, "@a/b", "my dir"]',
    ],
    [
      "upstream: { command: [npx -y x] }",
      "The program has spaces in its name: there is no shell that splits it → Write [npx, -y, x]",
    ],
    ["upstream: { command: npx }", "command must be a list, not text → Put it in brackets: [npx]"],
    ["upstream: { command: [npx], args: [-y] }", "Unknown key: args → Put them behind the program"],
    ["upstream: { command: [npx], type: stdio }", "Unknown key: type → Remove it"],
    [
      "mcpServers: { a: { command: npx } }",
      "Unknown key: mcpServers → That is the config of a client. Here a server is upstream:",
    ],
    ["deny: [x]", "Unknown key: deny → It belongs to tools: { deny: … }"],
    ["rules: []", "Unknown key: rules → It belongs to interceptor: { rules: … }"],
    ["command: [npx]", "Unknown key: command → It belongs to upstream: { command: … }"],
    ["tokens: a", "Unknown key: tokens → It belongs to auth: { tokens: … }"],
    ["recrod: a", "Unknown key: recrod → Known here: version, upstream,"],
    [withRule("[]", "[{ deny: no }]"), "Unknown action: deny → Write block: the reason"],
    [withRule("[]", "[deny]"), "Unknown action: deny → Write block: the reason"],
    [
      withRule("[]", "[{ redact: [secrets] }]"),
      "Unknown action: redact → Write transform: { redact: { kinds: [secrets] } }",
    ],
    [withRule("[]", "[{ blok: x }]"), "Unknown action: blok → Did you mean block?"],
    [withRule("[{ tool: x }]"), "Unknown condition: tool → Write tool_matches: ^name$"],
    [withRule("[{ or: [] }]"), "Unknown condition: or → Write any"],
    ["interceptor: { rules: [{ id: a, block: no }] }", "Unknown key: block → Put it under actions: [{ block: … }]"],
    [
      "interceptor: { rules: [{ id: a, tool_matches: x }] }",
      "Unknown key: tool_matches → Put it under conditions: [{ tool_matches: … }]",
    ],
    ["interceptor: { rules: [{ id: a, when: x }] }", "Unknown key: when → Write conditions"],
  ])("%s", (text, expected) => {
    expect(
      complaints(text).some((line) => line.includes(expected)),
      complaints(text).join("\n"),
    ).toBe(true);
  });

  test("a rate limit has a window", () => {
    for (const key of ["per", "interval", "period"]) {
      const text = withRule("[]", `[{ rate_limit: { key: a, limit: 3, ${key}: 1m } }]`);
      expect(complaints(text)).toContainEqual(expect.stringContaining(`Unknown key: ${key} → Write window`));
    }
  });

  test("a list that is not closed does not make the file empty", () => {
    expect(complaints("tools: { deny: [a, b }\n")).toEqual([expect.stringContaining("syntax: This is not YAML")]);
    expect(complaints("# nothing\n")).toEqual([expect.stringContaining("empty-file: The file is empty")]);
  });

  test("nothing is offered that would be refused", () => {
    const keys = ["recrod", "dashbord", "metrcs", "anomly", "experimens", "tracng"];
    for (const key of keys)
      expect(complaints(`${key}: x`)[0]).not.toMatch(/record|dashboard|metrics|anomaly|experiments|tracing/);
    expect(complaints(withRule("[]", "[{ hlod: x }]"))[0]).not.toContain("hold");
    // What is offered is taken.
    const suggested = /Write (.*)$/.exec(complaints("upstream: { command: npx -y @a/b }")[0])?.[1];
    expect(complaints(`upstream: { command: ${suggested} }`)).toEqual([]);
  });
});
