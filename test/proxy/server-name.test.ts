import { expect, test } from "vitest";
import { nameServer } from "../../src/proxy/server-name.ts";

test.each([
  ["http://localhost:3000/mcp", "http://localhost:3000/mcp"],
  ["HTTP://LOCALHOST:80", "http://localhost/"],
  ["https://user:word@example.com/mcp?key=secret#x", "https://example.com/mcp"],
])("a server at a URL is called by it, without secrets: %s", (upstream, name) => {
  expect(nameServer({ upstream })).toBe(name);
});

test.each([
  [["npx", "-y", "server", "."], "npx -y server ."],
  [["node", "my server.js", 'a"b', ""], String.raw`node "my server.js" "a\"b" ""`],
  [["s", "--api-key", "abc", "--port", "8"], "s --api-key *** --port 8"],
  [["s", "--api-key=abc", "GITHUB_TOKEN=x", "--verbose"], "s --api-key=*** GITHUB_TOKEN=*** --verbose"],
  [["s", "--auth", "--port", "8"], "s --auth --port 8"],
  [["s", "postgres://me:word@host/db"], "s postgres://***@host/db"],
  [["s", `ghp_${"a".repeat(36)}`], "s ***"],
])("a command is called by its words, without secrets: %j", (command, name) => {
  expect(nameServer({ command })).toBe(name);
});
