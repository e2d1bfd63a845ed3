import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-explain-"));
const config = join(folder, "fairlead.yaml");
writeFileSync(
  config,
  `tools: { deny: ["^drop_"] }
interceptor:
  rules:
    - id: no-ids
      conditions: [{ method_equals: tools/call }, { param_equals: { field: arguments.id, value: 12345678901234567890 } }]
      actions: [{ block: "not this one" }]
`,
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

async function explain(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text, ...rest: unknown[]) => {
      written[name] += String(text);
      (rest.find((each) => typeof each === "function") as (() => void) | undefined)?.();
      return true;
    });
  }
  return { code: await main(["explain", "--config", config, ...words]), ...written };
}

describe("a call can be explained by the tool's name and its arguments", () => {
  test("with the exact numbers that were typed", async () => {
    const { code, stdout } = await explain("--tool", "read", "--args", '{"id":12345678901234567890}');
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓ no-ids .*: matches\n/);
    expect(stdout).toMatch(/Outcome: refused by rule:no-ids: -32001 not this one\n$/);
    const other = await explain("--tool", "read", "--args", '{"id":12345678901234567891}');
    expect(other.stdout).toMatch(/Outcome: passes as it is\n$/);
  });

  test("or by its name alone", async () => {
    const { stdout } = await explain("--tool", "drop_table");
    expect(stdout).toMatch(/^The tool filter hides this tool: \^drop_\n/);
  });

  test("and what a server would be sent is the same as with --message", async () => {
    const params = '{"name":"a\\"b","arguments":{ "x" : 1.0 }}';
    const call = await explain("--format=json", "--tool", 'a"b', "--args", '{ "x" : 1.0 }');
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    expect(call.stdout).toBe((await explain("--format=json", "--message", message)).stdout);
  });
});

test.each([
  [["--args", "{}"], "--args is given without --tool"],
  [["--tool", "x", "--message", "{}"], "The message is given twice"],
  [["--tool", "x", "--args", "{path: 1}"], "Not valid JSON: --args"],
  [["--tool", "x", "--args", "[]"], "Not an object: --args"],
  [["--tool", "x", "--args", '"text"'], "Not an object: --args"],
  [[], "No message to explain"],
])("%j is a mistake that is named", async (words, message) => {
  const { code, stderr } = await explain(...words);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Error: .*\n.*\n$/);
  expect(stderr).toContain(message);
});
