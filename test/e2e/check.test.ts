import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { peer } from "../support/peers.ts";
import { COMMAND, fixture, test } from "../support/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-check-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FILES = peer("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", folder);

function policy(text: string): string {
  const file = join(folder, `${text.length}.yaml`);
  writeFileSync(file, text);
  return file;
}

test("a policy is compared with the tools of a server that is a command", async ({ startProgram }) => {
  const file = policy(`tools: { allow: [^read_text_fiel$] }
interceptor:
  rules:
    - id: a
      conditions: [{ tool_matches: ^read_text_file$ }, { param_exists: arguments.paht }]
      actions: [{ block: no }]
`);
  const { stdout, code } = await startProgram([process.execPath, COMMAND, "check", file, "--", ...FILES.command]).end();
  expect(stdout).toContain(":1:18: warning: No tool of the server matches ^read_text_fiel$");
  expect(stdout).toContain("= Did you mean read_text_file?");
  expect(stdout).toContain(":5:58: warning: arguments.paht is not an argument of read_text_file");
  expect(stdout).toMatch(/no mistakes \(1 rule, 1 name pattern, compared with \d+ tools, 2 warnings\)\n$/);
  expect(code).toBe(0);
});

test("and with those of a server at a URL, for programs", async ({ startProgram }) => {
  const server = startProgram(fixture("http-good.mjs", "0"));
  const [said] = (await once(server.stdout, "data")) as [Buffer];
  const port = /port (\d+)/.exec(said.toString())?.[1];
  const file = policy(
    "interceptor: { rules: [{ id: a, conditions: [{ tool_matches: slw }], actions: [{ block: no }] }] }\n",
  );
  const words = ["check", file, "--upstream", `http://127.0.0.1:${port}/mcp`, "--format", "json"];
  const { stdout, code } = await startProgram([process.execPath, COMMAND, ...words]).end();
  expect(JSON.parse(stdout)).toMatchObject({
    valid: true,
    tools: 5,
    warnings: [{ code: "unknown-tool", suggestion: "Did you mean slow?" }],
  });
  expect(code).toBe(0);
});

test("no server is started for a file with mistakes, and one that cannot be asked is an error", async ({
  startProgram,
}) => {
  const bad = policy("tols: {}\n");
  const gone = ["--", join(folder, "gone")];
  const first = await startProgram([process.execPath, COMMAND, "check", bad, ...gone]).end();
  expect([first.code, first.stderr]).toEqual([1, ""]);
  expect(first.stdout).toContain("Did you mean tools?");
  const second = await startProgram([process.execPath, COMMAND, "check", policy("version: 1\n"), ...gone]).end();
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(/^Error: /);
  const both = ["check", policy("version: 1\n"), "--upstream", "http://127.0.0.1:9/", ...gone];
  expect((await startProgram([process.execPath, COMMAND, ...both]).end()).stderr).toContain(
    "a command or a URL, not both",
  );
});
