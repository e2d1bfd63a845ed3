import { describe, expect, test } from "vitest";
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
  test("may still be answered within a minute", async () => {
    const { client, server, heard, wait } = stage(OPEN);
    await client(PING, cancel("7"));
    expect(heard("server")).toBe(PING + cancel("7"));
    wait(59_999);
    await server(PONG);
    expect(heard("client")).toBe(PONG);
    await server(PONG);
    expect(heard("client")).toBe("");
  });

  test("is forgotten after a minute: its answer is dropped, its id is free", async () => {
    const { client, server, heard, wait } = stage(OPEN);
    await client(PING, cancel("7"));
    heard("server");
    wait(60_000);
    await server(PONG);
    expect(heard("client")).toBe("");
    await client(PING);
    expect(heard("server")).toBe(PING);
  });

  test("keeps its id until then", async () => {
    const { client, heard } = stage(OPEN);
    await client(PING, cancel("7"), PING);
    expect(heard("server")).toBe(PING + cancel("7"));
    expect(heard("client")).toContain("the id is in use");
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
    const { client, server, heard, wait } = stage(OPEN);
    await server(PING, cancel("7"));
    expect(heard("client")).toBe(PING + cancel("7"));
    wait(60_000);
    await client(PONG);
    expect(heard("server")).toBe("");
  });

  test("is not another's with the same id on the other side", async () => {
    const { client, server, heard, wait } = stage(OPEN);
    await server(PING);
    await client(cancel("7"));
    wait(60_000);
    await client(PONG);
    expect(heard("server")).toBe(cancel("7") + PONG);
  });
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
