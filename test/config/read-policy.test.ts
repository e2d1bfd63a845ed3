import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readPolicy } from "../../src/config/read-policy.ts";
import { complaints, read, withRule } from "./reading.ts";

const printed = readFileSync(join(import.meta.dirname, "printed.txt"), "utf8");

test("the specification's configuration is read as it is printed", () => {
  const { policy, mistakes, warnings } = read(printed);
  expect(mistakes).toEqual([]);
  // It may be a vendor's, and so it is read.
  expect(warnings.map(({ message }) => message)).toEqual(["method_starts_with matches no method of the protocol"]);
  const { rules, chain, methodInterceptors } = policy!.interceptor;
  expect(chain).toEqual({
    failFast: true,
    parallel: false,
    timeoutMs: 5000,
    defaultAction: "allow",
    onError: "block",
  });
  expect(rules.map(({ id, mode, priority, place }) => [id, mode, priority, place.line])).toEqual([
    ["block-dangerous-tools", "on", 100, 12],
    ["rate-limit-expensive", "on", 90, 27],
    ["cache-readonly", "on", 80, 39],
  ]);
  expect(rules[0].conditions).toEqual([
    { is: "method_equals", text: "tools/call" },
    { is: "param_in", field: { text: "name", steps: ["name"] }, values: ["execute_command", "delete_file"] },
  ]);
  expect(rules[1].actions).toEqual([
    {
      does: "rate_limit",
      key: { text: "${session_id}:${method}", parts: [{ name: "session_id" }, ":", { name: "method" }] },
      limit: 10,
      windowMs: 60_000,
    },
  ]);
  expect(rules[2].conditions).toEqual([{ is: "method_in", texts: new Set(["resources/list", "tools/list"]) }]);
  expect([...methodInterceptors]).toEqual([
    ["tools/call", { kind: "tool-call", allowedTools: ["read_file", "write_file", "list_directory"], perMinute: 60 }],
    [
      "resources/read",
      { kind: "resource-access", allowedPaths: ["/workspace", "/tmp"], denyPatterns: ["*.key", "*.pem"] },
    ],
  ]);
});

const pin = (text: string): unknown => read(`tools: { pin: ${text} }`).policy?.tools.pin;

test("a lock file is a path, or a map that says what becomes of what has changed", () => {
  expect(pin("a.lock")).toEqual({ file: "a.lock", onChange: "hide" });
  expect(pin("{ file: a.lock }")).toEqual({ file: "a.lock", onChange: "hide" });
  expect(pin("{ file: a.lock, on_change: flag }")).toEqual({ file: "a.lock", onChange: "flag" });
  expect(complaints("tools: { pin: { on_change: flag } }")).toHaveLength(1);
  expect(complaints("tools: { pin: { file: a.lock, on_change: allow } }")).toHaveLength(1);
  expect(complaints("tools: { pin: [a.lock] }")).toHaveLength(1);
});

test("every key that does something is read", () => {
  const { policy, mistakes } = read(
    `# yaml-language-server: $schema=./schema/fairlead.schema.json
version: 1
upstream: { url: "http://localhost:3000/mcp", headers: { Authorization: "Bearer \${TOKEN}", X-B: $B }, on_loss: keep }
listen: "[::1]:8808"
tools: { deny: ["^file_", ".*_write$"], allow: [a], cache: session, refresh: on_change, not_found: spec, hide: strict, pin: fairlead.lock }
prompts: { deny: [x] }
resources: { allow: [y] }
validate: results
interceptor: { enabled: false, interceptors: [./one.js, { module: two, export: second, options: { a: [1] } }] }
limits: { max_message: 1MB, max_depth: 64, max_buffer: 2MB, max_open_calls: 10, max_sessions: 5, max_parked: 1KB, max_children: 3, max_connections: 7, max_upstream_connections: 8 }
timeouts: { connection: 1m, tool_list: 500ms, child_grace: 1.5s, session_idle: 2m, slow_reader: 20s }
audit: { file: audit.jsonl, level: all, on_error: block }
state: { store: memory, ttl: 1h, max_sessions: 9, max_conversations: 8 }
auth: { jwks: "https://id.example/keys", issuer: me, audience: you, scopes: [mcp], identity_header: X-User }
log: { level: debug, format: json, file: log.txt }
`,
    { TOKEN: "t0", B: "b" },
  );
  expect(mistakes).toEqual([]);
  const { interceptor, tools, prompts, resources, ...rest } = policy!;
  expect(rest).toEqual({
    version: 1,
    validate: "results",
    upstream: {
      kind: "url",
      url: "http://localhost:3000/mcp",
      headers: new Map([
        ["Authorization", "Bearer t0"],
        ["X-B", "b"],
      ]),
      onLoss: "keep",
    },
    listen: { host: "::1", port: 8808 },
    limits: {
      maxMessage: 1_048_576,
      maxDepth: 64,
      maxBuffer: 2_097_152,
      maxOpenCalls: 10,
      maxSessions: 5,
      maxParked: 1024,
      maxChildren: 3,
      maxConnections: 7,
      maxUpstreamConnections: 8,
    },
    timeouts: { connection: 60_000, toolList: 500, childGrace: 1500, sessionIdle: 120_000, slowReader: 20_000 },
    audit: { file: "audit.jsonl", level: "all", onError: "block", include: null },
    state: { store: "memory", ttlMs: 3_600_000, maxSessions: 9, maxConversations: 8 },
    auth: {
      kind: "jwt",
      jwks: "https://id.example/keys",
      issuer: "me",
      audience: "you",
      scopes: ["mcp"],
      identityHeader: "X-User",
    },
    log: { level: "debug", format: "json", file: "log.txt" },
    record: null,
    experiments: null,
    anomaly: null,
    dashboard: null,
    metrics: null,
    tracing: null,
  });
  expect(tools).toMatchObject({
    cache: "session",
    refresh: "on_change",
    notFound: "spec",
    hide: "strict",
    pin: { file: "fairlead.lock", onChange: "hide" },
  });
  expect(
    [tools.deny, tools.allow, prompts.deny, resources.allow].map((all) => all.map(({ source }) => source)),
  ).toEqual([["^file_", ".*_write$"], ["a"], ["x"], ["y"]]);
  expect(interceptor.enabled).toBe(false);
  expect(interceptor.interceptors).toEqual([
    { module: "./one.js", export: "default", options: null },
    { module: "two", export: "second", options: { a: [1] } },
  ]);
});

test("a server may be a command, a place only a port, and tokens may be in a file", () => {
  const { policy } = read(
    "upstream: { command: [npx, server], env: { A: $HOME }, cwd: /w }\nlisten: 80\nauth: { tokens: t }",
    { HOME: "/h" },
  );
  expect(policy).toMatchObject({
    upstream: { kind: "command", command: ["npx", "server"], env: new Map([["A", "/h"]]), cwd: "/w" },
    listen: { host: "127.0.0.1", port: 80 },
    auth: { kind: "tokens", file: "t" },
  });
});

test("a file that says nothing is a policy that does nothing, with a warning", () => {
  expect(read("# nothing\n").policy).toEqual(read("version: 1").policy);
  expect(complaints("")).toEqual(["1:1 empty-file: The file is empty → Write a policy, or leave out --config"]);
});

test("a byte order mark and lines that end otherwise change no place", () => {
  expect(complaints("\uFEFFversion: 1\r\ntols: 1\rlog: 2\n")).toEqual([
    "2:1 unknown-key: Unknown key: tols → Did you mean tools?",
    "3:6 wrong-type: log must be a map of keys, not a number",
  ]);
});

test("numbers in values keep all their digits", () => {
  const { policy } = read(
    withRule(
      "[{ param_equals: { field: id, value: 9007199254740993 } }, { param_greater_than: { field: n, value: 0x10 } }]",
    ),
  );
  expect(policy!.interceptor.rules[0].conditions).toMatchObject([{ value: 9007199254740993n }, { value: 16 }]);
});

test("every condition is read", () => {
  const conditions = `
        - { method_equals: tools/call }
        - { method_starts_with: tools }
        - { method_ends_with: call }
        - { method_matches: "^tools/" }
        - { method_in: [tools/call, tools/list] }
        - { param_exists: arguments.a }
        - { param_is_null: arguments.b }
        - { param_is_array: arguments.c }
        - { param_equals: { field: arguments.d, value: { x: [1, null] } } }
        - { param_in: { field: arguments.e, values: [1, two] } }
        - { param_matches: { field: "arguments.f[0].g", pattern: "x+" } }
        - { param_greater_than: { field: arguments.g, value: 1.5 } }
        - { param_less_than: { field: arguments.g, value: 3 } }
        - { param_within: { field: /arguments/path, paths: [/workspace] } }
        - { touches: { paths: [~/.ssh, /etc], globs: ["**/.env"], fields: [arguments.path] } }
        - { result_exists: content }
        - { result_equals: { field: isError, value: false } }
        - { result_matches: { field: text, pattern: secret } }
        - { session_id_equals: s }
        - { session_age_greater_than: 1h }
        - { calls_so_far: { tool: t, greater_than: 3 } }
        - { direction: down }
        - { client_matches: c }
        - { tool_matches: t }
        - { identity_matches: i }
        - { any: [{ method_equals: tools/call }, { not: { param_exists: arguments.z } }] }
        - { all: [{ cel: "method == 'tools/call'" }] }
`;
  const { policy, mistakes } = read(withRule(conditions));
  expect(mistakes).toEqual([]);
  expect(policy!.interceptor.rules[0].conditions.map(({ is }) => is)).toEqual(
    [...conditions.matchAll(/^ {8}- \{ (\w+)/gm)].map(([, name]) => name),
  );
  expect(read(withRule("[{ any: [{ error_code_equals: -32000 }, { error_message_contains: x }] }]")).mistakes).toEqual(
    [],
  );
});

test("every action is read, with what holds where nothing is said", () => {
  const { policy, mistakes } = read(
    withRule(
      "[]",
      `
        - delay: 1s
        - set_param: { field: a.b, value: [1] }
        - remove_param: c
        - set_result: { field: /d, value: null }
        - transform: redact
        - transform: { redact: { kinds: [email], patterns: ["x+"], by: "" } }
        - transform: { truncate: 10 }
        - transform: { truncate: { max_characters: 5, field: "content[0].text" } }
        - transform: strip_control
        - transform: { json_patch: [{ op: add, path: /a, value: 1 }, { op: move, from: /a, path: /b }] }
        - transform: { module: ./mine.js }
        - log: { message: "\${tool} by \${param.arguments.path}" }
        - metric: { name: deletes_total }
        - webhook: { url: "https://hooks.example/x" }
        - run_script: { path: ./check, args: [--fast] }
        - fork: {}
        - cache: { key: k, ttl: 1m }
        - rate_limit: { key: k, limit: 1, window: 1s }
        - block: { reason: no, code: -32050 }
        - metric: { name: blocked, value: 2 }
`.replace("reason: no,", 'reason: "no",'),
    ),
  );
  expect(mistakes).toEqual([]);
  const { actions } = policy!.interceptor.rules[0];
  expect(
    actions.filter(({ does }) => does === "transform").map((action) => "transform" in action && action.transform),
  ).toMatchObject([
    { kind: "redact", kinds: ["secrets"], patterns: [], by: "[redacted]" },
    { kind: "redact", kinds: ["email"], patterns: [{ source: "x+" }], by: "" },
    { kind: "truncate", maxCharacters: 10, field: null },
    { kind: "truncate", maxCharacters: 5, field: { steps: ["content", 0, "text"] } },
    { kind: "strip_control", field: null },
    { kind: "json_patch", operations: [{ op: "add" }, { op: "move" }] },
    { kind: "module", module: "./mine.js", export: "default", options: null },
  ]);
  expect(actions.filter(({ does }) => does !== "transform")).toMatchObject([
    { does: "delay", milliseconds: 1000 },
    { does: "set_param", value: [1] },
    { does: "remove_param" },
    { does: "set_result", value: null },
    {
      does: "log",
      level: "info",
      message: { parts: [{ name: "tool" }, " by ", { name: "param", field: { steps: ["arguments", "path"] } }] },
    },
    { does: "metric", value: 1 },
    { does: "webhook", includeMessage: false, waits: false, timeoutMs: 5000, secret: null, allowPrivate: false },
    { does: "run_script", args: ["--fast"], timeoutMs: 5000 },
    { does: "fork", copies: 1, to: null },
    { does: "cache", ttlMs: 60_000, scope: "private" },
    { does: "rate_limit", limit: 1, windowMs: 1000 },
    { does: "block", reason: { text: "no", parts: ["no"] }, code: -32050 },
    { does: "metric", name: "blocked", value: 2 },
  ]);
  for (const allow of [
    "allow",
    "{ allow: true }",
    "{ allow: }",
    "{ inject_error: { code: 1, message: m, data: { a: 1 } } }",
    "hide",
  ]) {
    expect(complaints(withRule("[{ tool_matches: x }]", `[${allow}]`))).toEqual([]);
  }
});

describe("a rule", () => {
  test.each([
    ["enabled: true", { mode: "on" }],
    ["enabled: false", { mode: "off" }],
    ["enabled: observe", { mode: "observe" }],
    ["direction: down", { direction: "down" }],
    ["direction: both", { direction: null }],
    ["priority: -5", { priority: -5 }],
    ["metadata: { ticket: A-1, tags: [a] }", { metadata: { ticket: "A-1", tags: ["a"] } }],
    ["name: Mine", { name: "Mine", id: "r" }],
    ["", { name: "r", mode: "on", priority: 0, direction: null, metadata: {} }],
  ])("with %s", (line, expected) => {
    expect(read(withRule("[]", "[allow]", `      ${line}\n`)).policy!.interceptor.rules[0]).toMatchObject(expected);
  });
});

test("engines that are given check patterns and expressions", () => {
  const text = withRule('[{ tool_matches: "a{3}" }, { cel: nonsense }]');
  const engines = { pattern: () => ({ problem: "is too large" }), cel: () => ({ problem: "means nothing" }) };
  expect(read(text).mistakes).toEqual([]);
  expect(
    readPolicy(text, { file: "p", env: {}, engines }).mistakes.map(({ code, message }) => [code, message]),
  ).toEqual([
    ["bad-pattern", "Invalid regex pattern: a{3} (is too large)"],
    ["bad-expression", "This expression cannot be used: means nothing"],
  ]);
});
