import { expect, test } from "vitest";
import { OPEN, stage } from "../support/play.ts";

const read = (uri: string): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } })}\n`;

test.each([
  ["x".repeat(4096), { tool: "x".repeat(4096), cut: null }],
  ["x".repeat(4097), { tool: "x".repeat(4096), cut: 4097 }],
  ["\u{1F680}".repeat(5000), { tool: "\u{1F680}".repeat(2048), cut: 10_000 }],
])("of a long address the event has the start, and says how long it was", async (uri, expected) => {
  const { client, events } = stage(OPEN);
  await client(read(uri));
  expect(events).toMatchObject([expected]);
});
