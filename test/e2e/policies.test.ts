import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { root } from "../support/docs.ts";
import { peer } from "../support/peers.ts";
import { COMMAND, test } from "../support/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-policies-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const POLICIES = {
  "read-only-filesystem": [
    "server-filesystem",
    peer("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", folder),
  ],
  "append-only-memory": ["server-memory", peer("@modelcontextprotocol/server-memory", "mcp-server-memory")],
  "rate-limited-browser": ["playwright-mcp", peer("@playwright/mcp", "playwright-mcp", "--isolated")],
  "github-without-deletes": ["server-github", peer("@modelcontextprotocol/server-github", "mcp-server-github")],
  "read-only-database": [
    "server-postgres",
    peer("@modelcontextprotocol/server-postgres", "mcp-server-postgres", "postgresql://x@localhost/x"),
  ],
} as const;

const env = { HOME: folder, GITHUB_TOKEN: "x", GITHUB_PERSONAL_ACCESS_TOKEN: "x" };

describe("the policies that are shipped, beside the servers that they are for", () => {
  for (const [policy, [server, { title, command }]] of Object.entries(POLICIES)) {
    test(`${policy} and ${title}: the list is the one that the policy was tested with`, async ({ startProgram }) => {
      const file = join(root, "examples/policies", `${policy}.yaml`);
      const words = ["tools", "--format", "json", "--config", file, "--tools-timeout", "40s", "--", ...command];
      const { stdout, code } = await startProgram([process.execPath, COMMAND, ...words], { env }).end();
      expect(code).toBe(0);
      const { tools } = JSON.parse(stdout) as { tools: { name: string; hiddenBy: string | null }[] };
      const recorded = JSON.parse(readFileSync(join(root, "test/fixtures/tool-lists", `${server}.json`), "utf8")) as {
        tools: object;
      };
      expect(tools.map(({ name }) => name)).toEqual(Object.keys(recorded.tools));
      expect(tools.some(({ hiddenBy }) => hiddenBy === null)).toBe(true);
    });
  }

  test("and fairlead check finds nothing in them that such a server does not have", async ({ startProgram }) => {
    const file = join(root, "examples/policies/rate-limited-browser.yaml");
    const words = ["check", file, "--tools-timeout", "40s", "--", ...POLICIES["rate-limited-browser"][1].command];
    const { stdout } = await startProgram([process.execPath, COMMAND, ...words], { env }).end();
    expect(stdout).toMatch(/no mistakes \(5 rules, 3 name patterns, compared with 25 tools\)\n$/);
  });
});
