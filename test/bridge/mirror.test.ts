import { expect, test } from "vitest";
import { mirrorAnew } from "../../src/bridge/mirror.ts";
import { openMessage, whole } from "../../src/message/message.ts";

const META = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}';

function open(text: string): ReturnType<typeof openMessage> {
  return openMessage(whole(Buffer.from(text)), "up", "refuse");
}

const CALL = open(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b",${META}}}`);
const MADE = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: b\r\n";

test("headers that mirror the body are made anew, and all others stay", () => {
  const given =
    "Authorization: x\r\nmcp-name: a\r\nMCP-PROTOCOL-VERSION: 2025-11-25\r\nMcp-Param-A.b: 1\r\nmcp-session-id: s\r\nMcp-Method: ping\r\nMcp-Named: y\r\n";
  expect(mirrorAnew(given, CALL, () => null)).toBe(`Authorization: x\r\nmcp-session-id: s\r\nMcp-Named: y\r\n${MADE}`);
});

test("no more than the line of a mirrored header is taken away", () => {
  const given = "Mcp-Param-Odd\r\nAuthorization: x\r\n";
  expect(mirrorAnew(given, CALL, () => null)).toBe(given + MADE);
});

test("a request of the older era keeps the headers that it came with", () => {
  const given = "Mcp-Name: a\r\n";
  const call = open('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b"}}');
  expect(mirrorAnew(given, call, () => null)).toBe(given);
});
