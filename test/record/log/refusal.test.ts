import { expect, test } from "vitest";
import { denying, OPEN, stage } from "../../support/play.ts";

const call = (name: string): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id: name, method: "tools/call", params: { name } })}\n`;
const LIST = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"delete_all","inputSchema":{}}]}}\n';

test("a refused call is logged with the tool's name, which cannot drive a terminal", async () => {
  const { client, server, said, troubles } = stage(denying("^delete_"));
  await client('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  await server(LIST);
  await client(call("delete_all"), call("\u001B[2J\u202E"), call("x".repeat(1000)));
  await client('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}\n');
  const refused = 'info  refused a call of a tool that is hidden or unknown rule="tools" tool=';
  expect(said).toEqual([
    `${refused}"delete_all"`,
    String.raw`${refused}"\u001b[2J\u202e"`,
    `${refused}"${"x".repeat(200)}…"`,
    'info  refused a call that names no tool rule="tools"',
  ]);
  expect(troubles).toEqual([]);
});

test("of what a server writes for people where messages belong, the first words are shown", async () => {
  const { server, said } = stage(OPEN);
  await server("\u001B[32mListening on port 3000, with the key hunter2 in my pocket\n", "ready \u{1F680}\n");
  const dropped = "warn  dropped a line from the server that is not a message: servers must write log output to stderr";
  expect(said).toEqual([
    String.raw`${dropped} rule="strict:not-json" begins="\u001b[32mListening on port 3000, with the ke…"`,
    `${dropped} rule="strict:not-json" begins="ready \u{1F680}"`,
  ]);
});

test("nothing is shown of what a client wrote, or of what looks like a message", async () => {
  const { client, server, said } = stage(OPEN);
  await client("password hunter2\n");
  await server(' {"jsonrpc":"2.0","token":"hunter2"\n', '["hunter2"\n');
  expect(said).toEqual([
    'warn  dropped a message from the client rule="strict:not-json"',
    'warn  dropped a message from the server rule="strict:not-json"',
    'warn  dropped a message from the server rule="strict:not-json"',
  ]);
});
