import { describe, expect, test } from "vitest";
import { composeMistakes } from "../../src/config/compose-mistakes.ts";
import { complaints, read, withRule } from "./reading.ts";

const param = (field: string): string => withRule(`[{ param_exists: ${field} }]`);

describe("keys and types", () => {
  test.each([
    ["tols: {}", "1:1 unknown-key: Unknown key: tols → Did you mean tools?"],
    ["zzzzzzzzz: 1", /^1:1 unknown-key: Unknown key: zzzzzzzzz → Known here: version, upstream, /],
    [
      "log: { level: info, level: warn }",
      "1:21 repeated-key: The key level is there twice → Keep this one or the one in line 1",
    ],
    ["version: 2", "1:10 wrong-value: Version 2 is not known here → Write version: 1, or use a newer Fairlead"],
    ["version: '1'", "1:10 wrong-value: version must be 1, not '1' → Did you mean 1?"],
    ["interceptor: { enabled: yes }", "1:25 wrong-type: enabled must be true or false, not text → Write true"],
    ["log: { file: 5 }", '1:14 wrong-type: file must be the path of a file, not a number → Put it in quotes: "5"'],
    ["log: { file: }", "1:8 wrong-type: file is empty → Write the path of a file, or take it out"],
    ["log: [a]", "1:6 wrong-type: log must be a map of keys, not a list"],
    ["tools: { deny: ^a }", "1:16 wrong-type: deny must be a list, not text → Put it in brackets: [^a]"],
    ["tools: { hide: strickt }", "1:16 wrong-value: hide must be plain or strict, not strickt → Did you mean strict?"],
    ["audit: {}", "1:8 missing-key: audit: file is missing → Add file: the path of a file"],
    ["limits: { max_sessions: 0 }", "1:25 wrong-value: max_sessions must be a positive whole number, not 0"],
    [
      "interceptor: { rules: [{ id: r, actions: [allow], priority: 1.5 }] }",
      /priority must be a whole number from -2147483648 to 2147483647, not 1.5/,
    ],
    [
      "limits: { max_sessions: '5' }",
      "1:25 wrong-type: max_sessions must be a positive whole number, not text → Take away the quotes",
    ],
    ["a\n", "1:1 wrong-type: the file must be keys and values, not text"],
    ["log: &a { level: info }\nx: { <<: *a }", "2:1 unknown-key: Unknown key: x → Known here"],
    ["log: { <<: 1 }", "1:8 unknown-key: Unknown key: << → Merge keys are not part of YAML 1.2: write the keys out"],
  ])("%s", (text, expected) => {
    const [first] = complaints(text);
    if (typeof expected === "string") expect(first.startsWith(expected) || first).toBe(true);
    else expect(first).toMatch(expected);
  });
});

describe("durations, sizes, places and addresses", () => {
  test.each([
    ["timeouts: { connection: 5 }", "1:25 bad-duration: connection: 5 has no unit → Add a unit: 5s or 5ms"],
    ["timeouts: { connection: 5 seconds }", '1:25 bad-duration: connection: "5 seconds" is not a duration → Write 5s'],
    ["timeouts: { connection: 1h30m }", '1:25 bad-duration: connection: "1h30m" is not a duration → Write 90m'],
    ["timeouts: { connection: 0s }", /"0s" is not a positive duration/],
    [
      "timeouts: { connection: 0.5ms }",
      '1:25 bad-duration: connection: "0.5ms" is not a whole number of milliseconds → Write 1ms',
    ],
    ["timeouts: { connection: 1.0005s }", /"1.0005s" is not a whole number of milliseconds → Write 1001ms/],
    ["timeouts: { connection: 900h }", /"900h" is longer than 24 days/],
    ["timeouts: { connection: soon }", /is not a duration → Write a number and a unit \(ms, s, m or h\), such as 5s$/],
    [
      "limits: { max_message: 10XB }",
      '1:24 bad-size: max_message: "10XB" is not a size → Write a number and a unit (B, KB, MB or GB), such as 10MB',
    ],
    ["limits: { max_message: 9GB }", /is not a size that fits into memory/],
    ["listen: 70000", "1:9 wrong-value: listen must be a whole number from 0 to 65535, not 70000"],
    ["listen: localhost:88080", /^1:9 bad-port: listen: "localhost:88080" is not a port → Write a port/],
    ["upstream: { url: localhost:3000/mcp }", "1:18 bad-url: url is not a URL → Write http://localhost:3000/mcp"],
    ["upstream: { url: 'ftp://a/b' }", "1:18 bad-url: url is not an http or https URL → Begin it with http://"],
    ["upstream: { url: 'http://a b/' }", "1:18 bad-url: url has spaces in it → Take them out"],
    [
      "upstream: { url: 'http://${HOST}/' }",
      "1:18 unset-variable: url: variable HOST is not set → Set it, or take ${HOST} out",
    ],
    ["upstream: { url: 'http://h', headers: { A: $NOPE } }", /^1:44 unset-variable: A: variable NOPE is not set/],
    [
      "upstream: { url: 'http://h', headers: { A: '${__proto__}' } }",
      /^1:44 unset-variable: A: variable __proto__ is not set/,
    ],
    ["upstream: { url: 'http://h', headers: { 'A b': x } }", /^1:41 bad-header: This is not the name of a header/],
    ["upstream: { url: 'http://h', headers: { Host: x } }", /^1:41 bad-header: The header Hostcannot be set/],
    ["upstream: { url: 'http://h', headers: { X: a, x: b } }", /^1:47 repeated-key: The header x is there twice/],
    [
      'upstream: { url: "http://h", headers: { X: "a\\nb" } }',
      /^1:44 bad-header: The value of header X cannot be sent/,
    ],
    ["upstream: {}", /^1:11 missing-key: upstream has neither url nor command/],
    ["upstream: { url: 'http://h', command: [a] }", /^1:30 wrong-value: A server is a command or a URL, not both/],
    ["upstream: { url: 'http://h', cwd: /a }", /^1:30 wrong-value: cwd needs command, which is missing/],
    ["auth: { jwks: 'https://h' }", /^1:9 wrong-value: The issuer and the audience of the tokens are missing/],
  ])("%s", (text, expected) => {
    const [first] = complaints(text);
    if (typeof expected === "string") expect(first).toBe(expected);
    else expect(first).toMatch(expected);
  });
});

describe("patterns, fields and templates", () => {
  test.each([
    [
      "tools: { deny: ['^[a-z'] }",
      '1:17 bad-pattern: Invalid regex pattern in deny list: "^[a-z" → Pattern must be valid JavaScript regex',
    ],
    [
      "prompts: { allow: ['(a+)+'] }",
      '1:20 unsafe-pattern: Unsafe regex pattern detected: "(a+)+" → Pattern could cause catastrophic backtracking',
    ],
    [withRule("[{ tool_matches: 'a(?!b)' }]"), /^4:38 not-re2: Lookaround \(\(\?!\) is not possible/],
    [withRule("[{ tool_matches: 'a(?!b)' }]"), /Lists such as tools\.deny know it$/],
    // They do not: what is offered would be refused there.
    [withRule("[{ tool_matches: 'a(?<=b)' }]"), /not-re2: Lookaround .*: use two conditions, or not$/],
    [withRule("[{ tool_matches: '(a)\\1' }]"), /^4:40 not-re2: A backreference \(\\1\) is not possible/],
    [withRule("[{ tool_matches: '(?>a)' }]"), /not-re2: Not a pattern of RE2/],
    [withRule("[{ tool_matches: 'a{2000}' }]"), /not-re2: .* RE2 repeats at most 1000 times/],
    [withRule("[{ tool_matches: '(a' }]"), /bad-pattern: Invalid regex pattern: \(a .* → Close every bracket/],
    [withRule("[{ tool_matches: '*.key' }]"), /bad-pattern: .* → Patterns are not globs: write \.\* for any text/],
    [param("a.__proto__.b"), "4:38 bad-field: __proto__ cannot be part of a field → Take it out"],
    [param("constructor.prototype.x"), /^4:36 bad-field: constructor cannot be part of a field/],
    [param("/a/prototype"), /bad-field: prototype cannot be part of a field/],
    [param("'a[*].b'"), /^4:38 bad-field: A field has no wildcards/],
    [param("$.a"), /bad-field: A field begins with its first key → Write a$/],
    [
      param("params.name"),
      "4:36 bad-field: param_exists: fields begin inside params → Write name unless params has a member params",
    ],
    [
      withRule("[]", "[{ log: { message: 'by ${toool}' } }]"),
      "5:39 unknown-variable: Unknown variable: ${toool} → Did you mean ${tool}?",
    ],
    [withRule("[]", "[{ log: { message: '${params.name}' } }]"), /Did you mean \$\{param\.name\}\?$/],
    [withRule("[]", "[{ log: { message: '${tool' } }]"), /bad-template: A variable does not end/],
    [withRule("[]", "[{ log: { message: '${param.__proto__}' } }]"), /^5:44 bad-field: __proto__/],
    [
      withRule("[]", "[{ webhook: { url: 'http://${param.host}/x' } }]"),
      /unknown-variable: url: \$\{param\.host\} depends on a message/,
    ],
    [withRule("[]", "[{ webhook: { url: 'http://{{arguments.host}}/x' } }]"), /bad-url: url has braces in it/],
    [
      withRule("[]", "[{ set_param: { field: a, value: { __proto__: 1 } } }]"),
      /^5:51 wrong-value: __proto__ cannot be a key/,
    ],
    [withRule("[]", "[{ set_param: { field: a, value: .inf } }]"), /wrong-value: \.inf is not a number in JSON/],
    [withRule("[]", "[{ transform: { json_patch: [{ op: ad, path: /a }] } }]"), /Did you mean op: add\?/],
    [withRule("[]", "[{ transform: { json_patch: [{ op: remove, path: /__proto__/a }] } }]"), /bad-field: __proto__/],
    [
      withRule("[{ param_within: { field: a, paths: [workspace] } }]"),
      /must be an absolute path → Write it from the root: \/workspace/,
    ],
    [withRule("[{ touches: {} }]"), /missing-key: touches has neither paths nor globs → Add globs:/],
    [withRule("[{ touches: { paths: [.env] } }]"), /→ For \.env in any directory, write globs: \["\*\*\/\.env"\]/],
    [withRule('[{ touches: { paths: ["/a/*"] } }]'), /wrong-value: paths\[0\] has wildcards.*→ Write it under globs/],
    [withRule('[{ touches: { globs: ["**"] } }]'), /globs\[0\] cannot be used: It is everywhere/],
    [withRule('[{ touches: { globs: ["/a/../b"] } }]'), /globs\[0\] cannot be used: It has \.\. in it/],
    [withRule('[{ touches: { globs: ["!/a"] } }]'), /globs\[0\] cannot be used: A glob has no exceptions/],
    [withRule("[{ touches: { paths: [/] } }]"), /paths\[0\] cannot be used: It is everywhere/],
    [withRule("[{ touches: { paths: [/a], fields: [] } }]"), /wrong-value: fields is empty/],
  ])("%s", (text, expected) => {
    const [first] = complaints(text);
    if (typeof expected === "string") expect(first).toBe(expected);
    else expect(first).toMatch(expected);
  });
});

describe("clauses", () => {
  test.each([
    [
      withRule("[{ method_equal: x }]"),
      "4:22 unknown-key: Unknown condition: method_equal → Did you mean method_equals?",
    ],
    [
      withRule("[{ method_equals: x, param_exists: y }]"),
      "4:40 wrong-value: More than one condition in one place → Begin each one with a dash of its own",
    ],
    [withRule("[{}]"), /There is no condition here/],
    [
      withRule("[method_equals]"),
      "4:20 wrong-type: method_equals needs a value → Write method_equals: a method such as tools/call",
    ],
    [
      withRule("{ method_equals: x }"),
      "4:19 wrong-type: conditions must be a list, not a map of keys → Begin each item with a dash",
    ],
    [withRule("[{ method_in: [] }]"), /wrong-value: method_in is empty/],
    [withRule("[]", "[alow]"), "5:17 unknown-key: Unknown action: alow → Did you mean allow?"],
    [withRule("[]", "[]"), /wrong-value: actions is empty/],
    [withRule("[]", "[{ hold: { ask: x } }]"), "5:19 not-yet: hold is not in this version yet → Take it out"],
    ["record: a.rec", "1:1 not-yet: record is not in this version yet → Take it out"],
    ["state: redis://u:p@h", "1:8 not-yet: A shared store (redis) is not in this version yet → Write memory"],
    ["interceptor: { mode: transport }", /^1:22 legacy-mode: mode: transport only relays/],
    [
      "interceptor: { method_interceptors: { tools/call: { class: ToolCalInterceptor } } }",
      /Unknown class: ToolCalInterceptor → Did you mean ToolCallInterceptor\?/,
    ],
    [
      "interceptor: { method_interceptors: { tools/list: { class: ToolCallInterceptor } } }",
      /never-matches: .* → Put it under tools\/call/,
    ],
    [
      "interceptor: { method_interceptors: { tools/call: { class: ToolCallInterceptor, config: { allowed_tool: [] } } } }",
      /Unknown key: allowed_tool → Did you mean allowed_tools\?/,
    ],
  ])("%s", (text, expected) => {
    const [first] = complaints(text);
    if (typeof expected === "string") expect(first).toBe(expected);
    else expect(first).toMatch(expected);
  });

  test.each(["record", "experiments", "anomaly", "dashboard", "metrics", "tracing"])(
    "%s is known, and not there yet",
    (key) => {
      expect(complaints(`${key}: {}`)).toEqual([`1:1 not-yet: ${key} is not in this version yet → Take it out`]);
    },
  );
});

test("two rules cannot have the same id, whatever else is wrong with them", () => {
  const text =
    "interceptor:\n  rules:\n    - { id: a, actions: [allow] }\n    - { id: a, actions: [bad_action_here] }\n";
  expect(complaints(text)[0]).toBe("4:13 repeated-id: Another rule has the id a, in line 3 → Give each its own");
});

test("all mistakes are found at once, in the order of the file", () => {
  const text = `tols: 1
timeouts: { connection: 5 }
interceptor:
  rules:
    - id: one
      conditions: [{ method_equals: a }, { method_equals: b }]
      actions: [{ blok: x }, { delay: 1 }]
    - name: two
`;
  const { policy, mistakes } = read(text);
  expect(policy).toBeNull();
  expect(mistakes.map(({ line, code, path }) => `${line} ${code} ${path}`)).toEqual([
    "1 unknown-key ",
    "2 bad-duration timeouts.connection",
    "6 never-matches interceptor.rules[0].conditions",
    "7 unknown-key interceptor.rules[0].actions[0]",
    "7 bad-duration interceptor.rules[0].actions[1].delay",
    "8 missing-key interceptor.rules[1]",
    "8 missing-key interceptor.rules[1]",
  ]);
});

test("mistakes are shown with their line, and as JSON", () => {
  const { mistakes, warnings } = read("log:\n  levle: info\ninterceptor: { mode: transport }\n");
  expect(composeMistakes([...mistakes, ...warnings], "text")).toBe(`p.yaml:2:3: Unknown key: levle
 2 |   levle: info
   |   ^^^^^
   = Did you mean level?

p.yaml:3:22: warning: mode: transport only relays: no rule and no interceptor is run
 3 | interceptor: { mode: transport }
   |                      ^^^^^^^^^
   = Write mode: mcp
`);
  expect(JSON.parse(composeMistakes(mistakes, "json"))).toEqual([
    {
      severity: "error",
      code: "unknown-key",
      file: "p.yaml",
      line: 2,
      column: 3,
      path: "log",
      message: "Unknown key: levle",
      suggestion: "Did you mean level?",
      text: "levle",
    },
  ]);
});

test("what could drive a terminal does not, and long lines are cut", () => {
  const shown = composeMistakes(read(`"\\e[31m${"x".repeat(500)}": 1\n"a\u202eb": 2`).mistakes, "text");
  expect(shown).not.toContain("\u001b");
  expect(shown).not.toContain("\u202e");
  expect(Math.max(...shown.split("\n").map((line) => line.length))).toBeLessThan(200);
});

describe("no secret is repeated", () => {
  test.each([
    ["upstream: { url: 'http://h', headers: { Authorization: Bearer s3cret, Host: a } }"],
    ["upstream: { url: 'http://me:s3cret@h h/' }"],
    ["upstream: { url: 'ftp://h/?key=s3cret' }"],
    ["upstream: { url: 'http://h', header: { Authorization: 'Bearer s3cret' } }"],
    ["upstream: { command: [a], env: { KEY: s3cret }, on_loss: keep }"],
    ["upstream: { command: [a], emv: { PASSWORD: s3cret } }"],
    [withRule("[]", "[{ webhook: { url: nowhere, secret: s3cret } }]")],
    ["upstream: { url: 'http://h', headers: { Authorization: 's3cret' }\nlog: ]["],
    ["state: redis://u:s3cret@h"],
  ])("%s", (text) => {
    const { mistakes } = read(text);
    expect(mistakes.length).toBeGreaterThan(0);
    expect(composeMistakes(mistakes, "text") + composeMistakes(mistakes, "json")).not.toContain("s3cret");
  });
});
