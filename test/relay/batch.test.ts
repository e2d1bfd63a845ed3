import { describe, expect, test } from "vitest";
import { openMessage, whole } from "../../src/message/message.ts";
import { cpuTime } from "../support/cpu.ts";
import { denying, OPEN, stage } from "../support/play.ts";

const HELLO = '{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-03-26"}}\n';
const hello = (revision: string): string =>
  `{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"${revision}","capabilities":{"tools":{}}}}\n`;
const LIST =
  '{"jsonrpc":"2.0","id":"list","result":{"tools":[{"name":"safe_tool","inputSchema":{}},{"name":"denied_tool","inputSchema":{}}]}}\n';
const ping = (id: number | string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}`;
const call = (id: number, name: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}`;
const notFound = (id: number, name: string): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Tool not found: ${name}"}}`;
const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{}}`;
const refused = (message: string): string =>
  `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"${message}"}}`;
const NOT_HERE = `${refused("Invalid request: batch not supported")}\n`;

const told = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"Invalid response"}}\n`;

/** A conversation that settled on a revision, with the tools known. */
async function settled(revision: string, policy = denying("^denied_tool$")) {
  const relay = stage(policy);
  await relay.client(HELLO);
  await relay.server(hello(revision));
  await relay.client('{"jsonrpc":"2.0","id":"list","method":"tools/list"}\n');
  await relay.server(LIST);
  relay.heard("client");
  relay.heard("server");
  return relay;
}

describe("where no batches were settled on", () => {
  test.each([
    ["one that would pass", `[${ping(1)}]`],
    ["one with a denied call", `[${call(1, "denied_tool")}]`],
    ["one in another", `[[${call(1, "denied_tool")}]]`],
    ["an empty one", "[]"],
    ["one of numbers", "[1,2]"],
  ])("a batch is refused: %s", async (_what, batch) => {
    for (const relay of [stage(OPEN), await settled("2025-06-18"), await settled("2024-11-05")]) {
      await relay.client(`${batch}\n`);
      expect(relay.heard("server")).toBe("");
      expect(relay.heard("client")).toBe(NOT_HERE);
      await relay.client(`${ping(9)}\n`);
      expect(relay.heard("server")).toBe(`${ping(9)}\n`);
    }
  });

  test("a batch from the server is refused too, and whoever waits for an answer in it is told", async () => {
    const relay = await settled("2025-06-18");
    await relay.client(`${ping(7)}\n`);
    await relay.server(`[${result(7)}]\n`);
    expect(relay.heard("client")).toBe(
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Invalid response"}}\n',
    );
  });

  test("whoever waits for an answer in a refused batch is told, wherever it stands among other things", async () => {
    const relay = await settled("2025-06-18");
    await relay.client(`${ping(7)}\n${ping(8)}\n`);
    await relay.server(`[0,[${result(7)}],{"id":7},${result(8)},"x",${result(8)},${result(7)}]\n`);
    expect(relay.heard("client")).toBe(told(8) + told(7));
  });

  test("a refused batch of a million things is not looked through one by one", async () => {
    const relay = await settled("2025-06-18");
    await relay.client(`${ping(7)}\n`);
    for (const thing of ["0", "{}"]) {
      const batch = Buffer.from(`[${`${thing},`.repeat(1_000_000)}0]\n`);
      const reading = await cpuTime(() => openMessage(whole(batch), "down", "allow"));
      expect(await cpuTime(() => relay.server(batch))).toBeLessThan(200 + 4 * reading);
    }
    expect(relay.heard("client")).toBe("");
  });

  test("what a client asks for does not settle it: the server's answer does", async () => {
    const relay = stage(OPEN);
    await relay.client(HELLO, `[${ping(1)}]\n`);
    expect(relay.heard("client")).toBe(NOT_HERE);
    await relay.server(hello("2025-06-18"));
    relay.heard("client");
    await relay.client(`[${ping(1)}]\n`);
    expect(relay.heard("client")).toBe(NOT_HERE);
  });
});

describe("where 2025-03-26 was settled on", () => {
  test("a batch that may pass leaves as it came", async () => {
    const relay = await settled("2025-03-26");
    const batch = ` [ ${ping(1)} ,\t${call(2, "safe_tool")} , {"jsonrpc":"2.0","method":"notifications/x"}] \n`;
    await relay.client(batch);
    expect(relay.heard("server")).toBe(batch);
    expect(relay.heard("client")).toBe("");
    await relay.server(`[${result(2)},${result(1)}]\n`);
    expect(relay.heard("client")).toBe(`[${result(2)},${result(1)}]\n`);
  });

  test.each([
    ["first", [call(1, "denied_tool"), ping(2), ping(3)], [ping(2), ping(3)]],
    ["in the middle", [ping(2), call(1, "denied_tool"), ping(3)], [ping(2), ping(3)]],
    ["last", [ping(2), ping(3), call(1, "denied_tool")], [ping(2), ping(3)]],
  ])("a denied call is cut out and answered, and the rest leaves as it came: %s", async (_where, members, left) => {
    const relay = await settled("2025-03-26");
    await relay.client(`[${members.join(",")}]\n`);
    expect(relay.heard("server")).toBe(`[${left.join(",")}]\n`);
    expect(relay.heard("client")).toBe(`[${notFound(1, "denied_tool")}]\n`);
  });

  test("nothing leaves of a batch of which nothing may", async () => {
    const relay = await settled("2025-03-26");
    await relay.client(`[${call(1, "denied_tool")},${call(2, "never_was")}]\n`);
    expect(relay.heard("server")).toBe("");
    expect(relay.heard("client")).toBe(`[${notFound(1, "denied_tool")},${notFound(2, "never_was")}]\n`);
  });

  test("a list that a batch brings is filtered in its place", async () => {
    const relay = await settled("2025-03-26");
    await relay.server('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n');
    await relay.client(`[${ping(1)},{"jsonrpc":"2.0","id":"list","method":"tools/list"}]\n`);
    relay.heard("client");
    await relay.server(`[ ${LIST.trimEnd()} , ${result(1)} ]\n`);
    expect(relay.heard("client")).toBe(
      `[ {"jsonrpc":"2.0","id":"list","result":{"tools":[{"name":"safe_tool","inputSchema":{}}]}} , ${result(1)} ]\n`,
    );
  });

  test("an answer that cannot be read is replaced in its place, and one nobody waits for is cut", async () => {
    const relay = await settled("2025-03-26");
    await relay.client(`[${ping(1)},${ping(2)}]\n`);
    await relay.server(`[${result(5)},{"jsonrpc":"2.0","id":1,"result":{},"error":{}},${result(2)},${result(2)}]\n`);
    expect(relay.heard("client")).toBe(
      `[{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Invalid response"}},${result(2)}]\n`,
    );
  });

  test("the same id twice is refused the second time", async () => {
    const relay = await settled("2025-03-26");
    await relay.client(`[${ping(1)},${call(1, "safe_tool")}]\n`);
    expect(relay.heard("server")).toBe(`[${ping(1)}]\n`);
    expect(relay.heard("client")).toBe(`[${refused("Invalid request: the id is in use")}]\n`);
  });

  test("what is no message is answered and cut", async () => {
    const relay = await settled("2025-03-26");
    await relay.client(`[1,${ping(1)},"x",null,{}]\n`);
    expect(relay.heard("server")).toBe(`[${ping(1)}]\n`);
    const [one] = JSON.parse(relay.heard("client")) as { id: null; error: { code: number } }[];
    expect(one).toMatchObject({ id: null, error: { code: -32600 } });
  });

  test.each(["[]", `[${Array.from({ length: 101 }, (_, id) => ping(id)).join(",")}]`])(
    "none and too many are refused",
    async (batch) => {
      const relay = await settled("2025-03-26");
      await relay.client(`${batch}\n`);
      expect(relay.heard("server")).toBe("");
      expect(relay.heard("client")).toBe(`${refused("Invalid request: batch not supported")}\n`);
    },
  );

  test("a batch in a batch is no message", async () => {
    const relay = await settled("2025-03-26");
    await relay.client(`[${ping(1)},[${ping(2)},${call(3, "denied_tool")}]]\n`);
    expect(relay.heard("server")).toBe(`[${ping(1)}]\n`);
    expect(relay.heard("client")).toBe(`[${refused("Invalid request: batch not supported")}]\n`);
    expect(relay.events.at(-1)).toMatchObject({ kind: "batch", verdict: "deny", rule: "session:batch" });
  });

  test("a list in it is the server's to answer: a hundred copies at once would be too much", async () => {
    const relay = await settled("2025-03-26");
    const lists = Array.from({ length: 100 }, (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`);
    await relay.client(`[${lists.join(",")}]\n`);
    expect(relay.heard("server")).toBe(`[${lists.join(",")}]\n`);
    expect(relay.heard("client")).toBe("");
  });

  test("a fault anywhere in it refuses all of it", async () => {
    for (const batch of [`[${ping(1)},{"a":1,"a":2}]`, `[${ping(1)},\r${ping(2)}]`, `[${ping(1)},]`]) {
      const relay = await settled("2025-03-26");
      await relay.client(`${batch}\n`);
      expect(relay.heard("server")).toBe("");
    }
  });

  test("a call in it that has to wait makes all of it wait", async () => {
    const relay = await settled("2025-03-26");
    await relay.server('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n');
    relay.heard("client");
    await relay.client(`[${ping(1)},${call(2, "safe_tool")},${call(3, "denied_tool")}]\n`);
    const own = `"fairlead-${relay.session.id}-1"`;
    expect(relay.heard("server")).toBe(`{"jsonrpc":"2.0","id":${own},"method":"tools/list","params":{}}\n`);
    await relay.server(LIST.replace('"list"', own));
    expect(relay.heard("server")).toBe(`[${ping(1)},${call(2, "safe_tool")}]\n`);
    expect(relay.heard("client")).toBe(`[${notFound(3, "denied_tool")}]\n`);
  });
});
