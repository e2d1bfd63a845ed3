import { expect, test } from "vitest";
import { type Message, openMessage, whole } from "../../src/message/message.ts";
import { createFork } from "../../src/proxy/fork.ts";
import type { Turn } from "../../src/session/turn.ts";

function open(text: string, direction: "up" | "down"): Message {
  return openMessage(whole(Buffer.from(text)), direction, "allow");
}

function result(value: string): Message {
  return open(`{"jsonrpc":"2.0","id":1,"result":${value}}`, "down");
}

async function compare(own: Message, other: Message | Error): Promise<{ counted: string[]; said: unknown[] }> {
  const counted: string[] = [];
  const said: unknown[] = [];
  const fork = createFork({
    reporter: { report: (...what) => void said.push(what), end: () => {} },
    witness: {
      count: (name: string, labels: object) => void counted.push([name, ...Object.values(labels)].join(" ")),
    } as never,
    version: "0",
  });
  const asked = other instanceof Error ? Promise.reject(other) : Promise.resolve(other);
  const turn = { session: { ask: () => asked } } as unknown as Turn;
  const request = open('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}', "up");
  const watch = fork({ does: "fork", copies: 1, to: null }, { id: "copy" } as never, turn, request);
  watch?.answered(own);
  await new Promise((resolve) => setImmediate(resolve));
  return { counted, said };
}

test("an answer to a copy that says the same is the same, however it is spelled", async () => {
  const { counted, said } = await compare(result('{"a":1.0,"b":"x"}'), result('{ "b":"\\u0078", "a":1 }'));
  expect(counted).toEqual(["fork same rule:copy"]);
  expect(said).toEqual([]);
});

test("of an answer that differs the log has what it is, and nothing of what it says", async () => {
  const secret = result('{"content":[{"type":"text","text":"my secret"}]}');
  const error = open('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"secret, too"}}', "down");
  const { counted, said } = await compare(secret, error);
  expect(counted).toEqual(["fork differs rule:copy"]);
  const fields = { method: "tools/call", request: "result, 48 bytes", copy: "error -32602, 39 bytes" };
  expect(said).toEqual([
    ["rule:copy", "the response to a copy differs from the original response", { level: "info", fields }],
  ]);
  expect(JSON.stringify(said)).not.toContain("secret");
});

test("a copy that is not answered differs", async () => {
  const { said } = await compare(result("{}"), new Error("no answer to tools/call within 60000 ms"));
  expect(JSON.stringify(said)).toContain("failed: no answer to tools/call within 60000 ms");
});
