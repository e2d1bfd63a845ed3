import { describe, expect, test } from "vitest";
import { MAX_SPENT_IDS } from "../../src/session/calls.ts";
import { denying, OPEN, stage } from "../support/play.ts";

const PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}\n';
const PONG = '{"jsonrpc":"2.0","id":7,"result":{}}\n';
const cancel = (id: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}\n`;
const call = (name: string, id = "7"): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}\n`;
const list = (id: string): string =>
  `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"safe_tool","inputSchema":{}}]}}\n`;

const large = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"b","arguments":"${"x".repeat(800_000)}"}}\n`;

describe("a call that was cancelled", () => {
  test("is not answered any more: an answer that comes late is dropped", async () => {
    const { client, server, heard, troubles } = stage(OPEN);
    await client(PING, cancel("7"));
    expect(heard("server")).toBe(PING + cancel("7"));
    await server(PONG);
    expect(heard("client")).toBe("");
    expect(troubles).toEqual(["session:stray-answer"]);
  });

  test("keeps its id for good: another request with it is refused under that id", async () => {
    const { client, heard, wait } = stage(OPEN);
    await client(PING, cancel("7"));
    heard("server");
    wait(365 * 24 * 60 * 60 * 1000);
    await client(PING);
    expect(heard("server")).toBe("");
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Invalid request: the id belongs to a request that was cancelled"}}\n',
    );
  });

  test("keeps its id in every spelling that clients look it up by", async () => {
    const { client, heard } = stage(OPEN);
    await client(PING, cancel("7"));
    heard("server");
    await client(PING.replace("7", '"7"'), PING.replace("7", '"0x7"'), PING.replace("7", '" 7 "'));
    expect(heard("server")).toBe("");
  });

  test("makes room for another, and is never forgotten for it", async () => {
    const { client, server, heard } = stage(denying("^secret"), { maxOpenCalls: 10 });
    await client('{"jsonrpc":"2.0","id":5,"method":"tools/list"}\n', cancel("5"));
    const others = Array.from({ length: 9 }, (_, id) => PING.replace("7", String(100 + id)));
    await client(...others);
    expect(heard("server").split("\n")).toHaveLength(12);
    await client(PING.replace("7", "5"));
    await server('{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"secret_tool","inputSchema":{}}]}}\n');
    expect(heard("client")).not.toContain("secret_tool");
  });

  test("is not answered when the conversation ends", async () => {
    const { client, passage } = stage(OPEN);
    await client(PING, PING.replace("7", "8"), cancel("7"));
    const answers = passage.giveUp("up", { code: -32000, message: "Connection closed" });
    expect(answers.map(String)).toEqual([
      '{"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"Connection closed"}}',
    ]);
  });

  test("may be the server's own", async () => {
    const { client, server, heard } = stage(OPEN);
    await server(PING, cancel("7"));
    expect(heard("client")).toBe(PING + cancel("7"));
    await client(PONG);
    expect(heard("server")).toBe("");
    await server(PING);
    expect(heard("client")).toBe("");
  });

  test("is not another's with the same id on the other side", async () => {
    const { client, server, heard } = stage(OPEN);
    await server(PING);
    await client(cancel("7"));
    await client(PONG);
    expect(heard("server")).toBe(cancel("7") + PONG);
  });
});

test("a session with too many cancelled requests is over: it says so once, and opens no further call", async () => {
  let ended = 0;
  const { client, heard } = stage(OPEN, { onExhausted: () => void ended++ });
  for (let id = 0; id < MAX_SPENT_IDS; id += 1000) {
    const ids = Array.from({ length: 1000 }, (_, index) => id + index);
    await client(ids.map((one) => PING.replace("7", String(one)) + cancel(String(one))).join(""));
    heard("server");
  }
  expect(ended).toBe(0);
  await client(PING.replace("7", '"one more"'), cancel('"one more"'));
  expect(ended).toBe(1);
  heard("server");
  await client(PING.replace("7", '"too late"'));
  expect(heard("server")).toBe("");
  expect(heard("client")).toContain('"id":"too late","error"');
});

test("a cancellation of what nobody asked passes: it is the server's to shrug", async () => {
  const { client, heard } = stage(OPEN);
  await client(cancel("424242"), cancel("null"), cancel("{}"));
  expect(heard("server")).toBe(cancel("424242") + cancel("null") + cancel("{}"));
});

describe("a call that waits for the list", () => {
  test.each(["7", '"7"'])(
    "and is cancelled as %s reaches the server neither itself nor by its cancellation",
    async (id) => {
      const { client, server, heard, session } = stage(denying("^denied_tool$"));
      await client(call("safe_tool"));
      const own = `"fairlead-${session.id}-1"`;
      expect(heard("server")).toContain(own);
      await client(cancel(id));
      expect(heard("server")).toBe("");
      await server(list(own));
      expect(heard("server")).toBe("");
      expect(heard("client")).toBe("");
      // Its id is free again.
      await client(call("safe_tool"));
      expect(heard("server")).toBe(call("safe_tool"));
    },
  );

  test("and is cancelled is in the audit log with its tool, and so is one whose conversation ends", async () => {
    const { client, passage, events } = stage(denying("^denied_tool$"));
    await client(call("denied_tool"), cancel("7"), call("safe_tool", "8"));
    expect(events.map(({ kind, tool, verdict, rule }) => [kind, tool, verdict, rule])).toEqual([
      ["notification", null, "drop", "session:withdrawn"],
      ["request", "denied_tool", "drop", "session:withdrawn"],
    ]);
    expect(passage.giveUp("up", { code: -32000, message: "Connection closed" })).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ tool: "safe_tool", verdict: "deny", rule: "tools:no-list" });
  });

  test("and is cancelled makes room for others at once", async () => {
    const { client, heard } = stage(denying("^denied_tool$"));
    await client(large(1), cancel("1"));
    await client(large(2));
    expect(heard("client")).toBe("");
  });

  test("keeps its id from being used by another", async () => {
    const { client, server, heard, session } = stage(denying("^denied_tool$"));
    await client(call("safe_tool"), PING);
    expect(heard("client")).toContain('"id":null');
    await server(list(`"fairlead-${session.id}-1"`));
    expect(heard("server")).toMatch(/"tools\/list".*\n.*"tools\/call"/);
  });

  test("is not answered by a server that has not seen it", async () => {
    const { client, server, heard, session } = stage(denying("^denied_tool$"));
    await client(call("safe_tool"));
    heard("server");
    await server('{"jsonrpc":"2.0","id":7,"result":{"made":"up"}}\n');
    expect(heard("client")).toBe("");
    await server(list(`"fairlead-${session.id}-1"`));
    expect(heard("server")).toBe(call("safe_tool"));
  });

  test("and whose id is taken again after its cancellation does not come back", async () => {
    const { client, server, heard, session } = stage(denying("^denied_tool$"));
    await client(call("safe_tool"), cancel("7"), PING);
    expect(heard("server")).toMatch(/"tools\/list".*\n\{"jsonrpc":"2.0","id":7,"method":"ping"\}\n$/);
    await server(list(`"fairlead-${session.id}-1"`));
    expect(heard("server")).toBe("");
    await server(PONG);
    expect(heard("client")).toBe(PONG);
  });
});
