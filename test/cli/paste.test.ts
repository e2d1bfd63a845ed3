import { expect, test } from "vitest";
import { createPaint } from "../../src/cli/output.ts";
import { composePaste, type PasteOptions } from "../../src/cli/paste.ts";

function compose(options: Partial<PasteOptions>): { lines: string[]; entries: unknown[] } {
  const given = { url: "http://127.0.0.1:8808/mcp", hosts: [], asksForToken: false, ...options };
  const [, ...lines] = composePaste(given, createPaint({}, {})).trimEnd().split("\n");
  return { lines, entries: lines.slice(1).map((line) => JSON.parse(line.slice(line.indexOf("{"))) as unknown) };
}

test("what is printed can be pasted as it is", () => {
  const { lines, entries } = compose({});
  expect(lines[0]).toBe("  Claude Code  claude mcp add --transport http fairlead http://127.0.0.1:8808/mcp");
  const entry = { type: "http", url: "http://127.0.0.1:8808/mcp" };
  expect(entries).toEqual([{ servers: { fairlead: entry } }, { mcpServers: { fairlead: entry } }]);
});

test("a token that is asked for has its place in it", () => {
  const { lines, entries } = compose({ asksForToken: true });
  expect(lines[0]).toMatch(/ --header "Authorization: Bearer <your token>"$/);
  expect(JSON.stringify(entries[0])).toContain('"headers":{"Authorization":"Bearer <your token>"}');
});

test.each([
  [{ url: "http://0.0.0.0:8808/mcp" }, "http://127.0.0.1:8808/mcp"],
  [{ url: "https://[::]:8808/mcp" }, "https://127.0.0.1:8808/mcp"],
  [{ url: "https://0.0.0.0:8808/mcp", hosts: ["mcp.example.com"] }, "https://mcp.example.com:8808/mcp"],
  [{ url: "http://[::1]:8808/mcp" }, "http://[::1]:8808/mcp"],
])("the URL of %j is one that a client can use", (options, url) => {
  expect(compose(options).lines[0]).toContain(` ${url}`);
});
