import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";

const home = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "fairlead-check-"));
beforeAll(() => process.chdir(folder));
beforeAll(() => writeFileSync("own.mjs", ""));
afterEach(() => vi.restoreAllMocks());
afterAll(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});

/** What fairlead check says about a file with this in it. */
async function check(
  text: string | null,
  ...words: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  if (text !== null) writeFileSync("fairlead.yaml", text);
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((piece, ...rest: unknown[]) => {
      written[name] += String(piece);
      (rest.find((each) => typeof each === "function") as (() => void) | undefined)?.();
      return true;
    });
  }
  return { code: await main(["check", ...words]), ...written };
}

const RULES = `tools: { deny: [^delete_, ^drop_] }
resources: { allow: [^file] }
interceptor:
  method_interceptors:
    tools/call: { class: ToolCallInterceptor, config: { allowed_tools: [a] } }
  interceptors: [./own.mjs]
  rules:
    - { id: a, actions: [{ block: no }], enabled: false }
    - { id: b, conditions: [{ method_equals: ping }], actions: [allow] }
`;

test("a file without mistakes is summed up on one line", async () => {
  const stdout = "fairlead.yaml: no mistakes (2 rules, 1 off, 1 method interceptor, 1 interceptor, 3 name patterns)\n";
  expect(await check(RULES)).toEqual({ code: 0, stdout, stderr: "" });
  writeFileSync("other name.yaml", "version: 1\n");
  expect((await check(null, "other name.yaml")).stdout).toBe('"other name.yaml": no mistakes (0 rules)\n');
});

test("warnings are shown, and are no failure", async () => {
  expect(await check("interceptor: { mode: transport }\n")).toEqual({
    code: 0,
    stdout: `fairlead.yaml:1:22: warning: mode: transport only relays: no rule and no interceptor is run
 1 | interceptor: { mode: transport }
   |                      ^^^^^^^^^
   = Write mode: mcp

fairlead.yaml: no mistakes (0 rules, 1 warning)
`,
    stderr: "",
  });
});

test("all mistakes and warnings are shown in the order of the file", async () => {
  const { code, stdout, stderr } = await check("listen: 70000\ninterceptor: { mode: transport }\ntols: {}\n");
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout.match(/^fairlead.*/gm)).toEqual([
    "fairlead.yaml:1:9: listen must be a whole number from 0 to 65535, not 70000",
    "fairlead.yaml:2:22: warning: mode: transport only relays: no rule and no interceptor is run",
    "fairlead.yaml:3:1: Unknown key: tols",
    "fairlead.yaml: 2 mistakes (1 warning)",
  ]);
});

test("programs get the same as JSON", async () => {
  const { code, stdout } = await check("tols: {}\n", "--format", "json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    file: "fairlead.yaml",
    valid: false,
    rules: null,
    policy: null,
    mistakes: [
      {
        severity: "error",
        code: "unknown-key",
        file: "fairlead.yaml",
        line: 1,
        column: 1,
        path: "",
        message: "Unknown key: tols",
        suggestion: "Did you mean tools?",
        text: "tols",
      },
    ],
    warnings: [],
  });
  expect(JSON.parse((await check(RULES, "--format=json")).stdout)).toMatchObject({
    valid: true,
    rules: 2,
    policy: expect.stringMatching(/^[0-9a-f]{12}$/) as string,
    mistakes: [],
  });
});

test("the schema for editors is printed as it is shipped", async () => {
  const shipped = readFileSync(join(home, "schema/fairlead.schema.json"), "utf8");
  expect(JSON.parse((await check(null, "--schema")).stdout)).toEqual(JSON.parse(shipped));
});

test("a file that is not there, and words that are too many, are refused", async () => {
  expect(await check(null, "nowhere.yaml")).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "Error: Cannot read the policy file nowhere.yaml\nThere is no such file: check the path and its permissions\n",
  });
  expect((await check(null, "a", "b")).stderr).toBe("Error: Unexpected word: b\nWrite fairlead check [file]\n");
  expect((await check(null, "--fromat", "json")).stderr).toContain("Did you mean --format?");
});
