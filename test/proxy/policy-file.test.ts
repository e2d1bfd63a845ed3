import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ProxyError } from "../../src/errors.ts";
import { type LoadedPolicy, loadPolicyFile } from "../../src/proxy/policy-file.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-policy-"));
const file = join(folder, "p.yaml");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function load(content: string | Buffer, env: Record<string, string> = {}): Promise<LoadedPolicy> {
  writeFileSync(file, content);
  return loadPolicyFile(file, env);
}

async function refusal(loading: Promise<unknown>): Promise<{ code: string; message: string; remedy: string }> {
  const error = await loading.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProxyError)) throw new Error("it was not refused");
  return { code: error.code, message: error.message.replaceAll(folder, ""), remedy: error.remedy };
}

const rule = (condition: string, action = "block: no"): string =>
  `interceptor:\n  rules:\n    - id: r\n      conditions: [${condition}]\n      actions: [{ ${action} }]\n`;

test("all mistakes are told at once, each with its place, its line and what to do", async () => {
  expect(await refusal(load(`tols: {}\n${rule('{ param_matches: { field: a, pattern: "(?=a)" } }')}`))).toEqual({
    code: "BAD_POLICY",
    message: `/p.yaml has 2 mistakes

/p.yaml:1:1: Unknown key: tols
 1 | tols: {}
   | ^^^^
   = Did you mean tools?

/p.yaml:5:59: Lookaround ((?=) is not possible in the pattern of a rule: (?=a)
 5 |       conditions: [{ param_matches: { field: a, pattern: "(?=a)" } }]
   |                                                           ^^^
   = Rules use RE2, which cannot be made to hang: use two conditions, or not. Lists such as tools.deny know it
`,
    remedy: "Nothing was started: without a valid policy nothing is let through",
  });
});

test("warnings come with what was read", async () => {
  const { settings, warnings } = await load("interceptor: { mode: transport }\n");
  expect(settings.interceptor.mode).toBe("transport");
  expect(warnings.map(({ line, code }) => [line, code])).toEqual([[1, "legacy-mode"]]);
});

describe("a file that cannot be read is named", () => {
  test.each([
    ["nowhere.yaml", "There is no such file: check the path and its permissions"],
    [".", "It is a directory: check the path and its permissions"],
  ])("%s", async (name, remedy) => {
    const message = `Cannot read the policy file ${name === "." ? "" : `/${name}`}`;
    expect(await refusal(loadPolicyFile(join(folder, name), {}))).toEqual({
      code: "FILE_NOT_READABLE",
      message,
      remedy,
    });
  });

  test.skipIf(process.platform === "win32")("one that never ends is read as far as a policy may go", async () => {
    const { message } = await refusal(loadPolicyFile("/dev/zero", {}));
    expect(message).toContain("The file has more than 4194304 characters");
  });

  test("one that is no text says where", async () => {
    const latin = Buffer.from("version: 1\nlog: { file: é }\n", "latin1");
    const { message } = await refusal(load(latin));
    expect(message).toContain("/p.yaml:2:14: This is not UTF-8\n   = Save the file as UTF-8");
  });
});

describe("the engines are loaded for what needs them, however that is spelt", () => {
  test.each([
    ["a pattern", '{ tool_matches: "^a{2}" }', null],
    ["a key with escapes", '{ "tool_match\\x65s": "(a" }', "Invalid regex pattern"],
    ["an expression", '{ cel: "method ==" }', "This expression cannot be used: Unexpected token: EOF"],
    ["an expression with a pattern", "{ cel: \"method.matches('(a')\" }", 'the pattern "(a" does not compile'],
    ["an expression with escapes", '{ "c\\x65l": "method.m\\x61tches(\'(a\')" }', 'the pattern "(a" does not compile'],
    ["an expression that is right", "{ cel: \"method.matches('a+') && params.n > 1\" }", null],
  ])("%s", async (_, condition, expected) => {
    const loading = load(rule(condition));
    if (expected === null) expect((await loading).settings.interceptor.rules).toHaveLength(1);
    else expect((await refusal(loading)).message).toContain(expected);
  });

  test("and what was loaded runs", async () => {
    const { settings } = await load(rule("{ tool_matches: ^ab+$ }"));
    const [condition] = settings.interceptor.rules[0].conditions;
    expect(condition.is === "tool_matches" && [condition.pattern.test("abb"), condition.pattern.test("b")]).toEqual([
      true,
      false,
    ]);
  });
});

test("paths are relative to the folder of the file", async () => {
  for (const path of ["sub", "transforms"]) mkdirSync(join(folder, path), { recursive: true });
  for (const path of ["transforms/mine.mjs", "own.mjs", "sub/up.js"]) writeFileSync(join(folder, path), "");
  const text = `
upstream: { command: [./server, ./argument], cwd: sub }
tools: { pin: fairlead.lock }
audit: { file: ../audit.jsonl }
auth: { tokens: tokens.txt }
log: { file: /var/log/f.log }
interceptor:
  rules:
    - id: r
      actions:
        - run_script: { path: ./check.sh, args: [./as-it-is] }
        - run_script: { path: python3 }
        - transform: { module: transforms/mine.mjs }
        - transform: { module: some-package }
  interceptors: [./own.mjs]
  method_interceptors: { tools/call: { module: ./transforms/../sub/up.js } }
`;
  const { settings, folder: found } = await load(text);
  expect(found).toBe(folder);
  expect(settings).toMatchObject({
    upstream: { command: ["./server", "./argument"], cwd: join(folder, "sub") },
    tools: { pin: { file: join(folder, "fairlead.lock"), onChange: "hide" } },
    audit: { file: join(folder, "..", "audit.jsonl") },
    auth: { file: join(folder, "tokens.txt") },
    log: { file: "/var/log/f.log" },
    interceptor: {
      rules: [
        {
          actions: [
            { path: join(folder, "check.sh"), args: ["./as-it-is"] },
            { path: "python3" },
            { transform: { module: join(folder, "transforms/mine.mjs") } },
            { transform: { module: "some-package" } },
          ],
        },
      ],
      interceptors: [{ module: join(folder, "own.mjs") }],
    },
  });
  expect(settings.interceptor.methodInterceptors.get("tools/call")).toMatchObject({
    module: join(folder, "sub", "up.js"),
  });
});

const hook = (settings: string): string => rule("{ tool_matches: x }", `webhook: { ${settings} }`);

/** Every place where a module can be named. */
const policies = (module: string): string[] => [
  rule("{ tool_matches: x }", `transform: { module: ${module} }`),
  `interceptor: { interceptors: [${module}] }\n`,
  `interceptor: { interceptors: [{ module: ${module} }] }\n`,
  `interceptor: { method_interceptors: { tools/call: { module: ${module} } } }\n`,
];

describe("what the start would refuse is a mistake already", () => {
  test.each(["http://localhost:9/x", "http://127.0.0.1/x", "http://10.0.0.8/x", "http://[::1]/x", "http://0x7f.1/x"])(
    "a webhook on this machine or in a private network: %s",
    async (url) => {
      const { code, message } = await refusal(load(hook(`url: "${url}"`)));
      expect(code).toBe("BAD_POLICY");
      expect(message).toContain(
        "/p.yaml:5:35: This webhook cannot be used: it is on this machine or in a private network",
      );
      expect(message).toContain("= Set allow_private: true on the webhook to allow this");
      expect((await load(hook(`url: "${url}", allow_private: true`))).warnings).toEqual([]);
    },
  );

  test("a module that is not there, wherever it is named", async () => {
    writeFileSync(join(folder, "there.mjs"), "export default () => {};");
    for (const text of policies("./gone.mjs")) {
      const { message } = await refusal(load(text));
      expect(message).toContain("There is no module ./gone.mjs");
      expect(message).toContain("= Paths are relative to the folder of the policy file");
    }
    for (const text of policies("./there.mjs")) expect((await load(text)).warnings).toEqual([]);
    for (const text of policies("some-package")) expect((await load(text)).warnings).toEqual([]);
  });

  test("a program that is not there is a warning, because it may come", async () => {
    const { warnings } = await load(rule("{ tool_matches: x }", "run_script: { path: ./gone.sh }"));
    expect(warnings.map(({ message }) => message)).toEqual(["There is no program ./gone.sh"]);
    expect((await load(rule("{ tool_matches: x }", "run_script: { path: gone }"))).warnings).toEqual([]);
  });
});
