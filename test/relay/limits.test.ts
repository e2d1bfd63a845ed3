import { describe, expect, test } from "vitest";
import { denying, OPEN, stage } from "../support/play.ts";

const ask = (id: number | string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}\n`;
const answer = (id: number | string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}\n`;
const failure = (id: number | string | null, code: number, message: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":${code},"message":"${message}"}}\n`;
const TOO_LARGE = "Invalid request: message too large";

const about = (method: string, member: string, text: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"${member}":"${text}"}}\n`;

const list = (id: number, cursor: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{"cursor":"${cursor}"}}\n`;

describe("open calls", () => {
  test("a thousand may wait, and the next is refused until one is answered", async () => {
    const { client, server, heard } = stage(OPEN);
    await client(...Array.from({ length: 1001 }, (_, id) => ask(id)));
    expect(heard("server").split("\n")).toHaveLength(1001);
    expect(heard("client")).toBe(failure(1000, -32000, "Too many requests are waiting for an answer"));
    await server(answer(500));
    await client(ask(1000));
    expect(heard("server")).toBe(ask(1000));
  });

  test("cancelled ones make room", async () => {
    const { client, heard } = stage(OPEN, { maxOpenCalls: 2 });
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n';
    await client(ask(1), ask(2), cancel, ask(3), ask(4));
    expect(heard("server")).toBe(ask(1) + ask(2) + cancel + ask(3));
    expect(heard("client")).toContain('"id":4');
  });

  test("each direction has its own thousand", async () => {
    const { client, server, heard } = stage(OPEN, { maxOpenCalls: 1 });
    await client(ask(1));
    await server(ask(1), ask(2));
    expect(heard("client")).toBe(ask(1));
    expect(heard("server")).toBe(ask(1) + failure(2, -32000, "Too many requests are waiting for an answer"));
  });

  test("a full table does not keep us from fetching the list", async () => {
    const { client, server, heard, session } = stage(denying("^denied_tool$"), { maxOpenCalls: 1 });
    await client('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe_tool"}}\n');
    await server(
      `{"jsonrpc":"2.0","id":"fairlead-${session.id}-1","result":{"tools":[{"name":"safe_tool","inputSchema":{}}]}}\n`,
    );
    expect(heard("server")).toContain('"tools/call"');
  });
});

describe("what an open call keeps", () => {
  test.each([
    ["tools/call", "name"],
    ["prompts/get", "name"],
    ["tasks/get", "taskId"],
  ])("%s has a name of at most 1,024 characters", async (method, member) => {
    for (const character of ["x", "é", "\\u00e9", "天", "\\n"]) {
      const { client, heard } = stage(OPEN);
      await client(about(method, member, character.repeat(1025)));
      expect(heard("client")).toContain('"code":-32602');
      expect(heard("server")).toBe("");
      await client(about(method, member, character.repeat(1024)));
      expect(heard("server")).toBe(about(method, member, character.repeat(1024)));
    }
  });

  test("a link of any length passes, and its beginning is kept", async () => {
    const relay = stage(OPEN);
    const read = about("resources/read", "uri", `data:,${"x".repeat(9_000_000)}`);
    await relay.client(read);
    expect(relay.heard("server") === read).toBe(true);
    expect(relay.session.calls.up.find(1)?.subject).toBe(`data:,${"x".repeat(4090)}`);
    expect(relay.events.at(-1)?.tool).toHaveLength(4096);
  });

  test("a cursor of more than 4,096 characters is not followed", async () => {
    const relay = stage(denying("^x$"));
    await relay.client(list(1, "c".repeat(4096)), list(2, "c".repeat(4097)));
    expect(relay.heard("server")).toBe(list(1, "c".repeat(4096)) + list(2, "c".repeat(4097)));
    expect(relay.session.calls.up.find(1)?.cursor).toHaveLength(4096);
    expect(relay.session.calls.up.find(2)?.cursor).toBeUndefined();
  });
});

describe("a message that is too large", () => {
  const MAX = 1000;
  const filling = "x".repeat(MAX);

  test.each([
    ["first", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"t":"${filling}"}}\n`],
    ["last", `{"jsonrpc":"2.0","method":"ping","params":{"id":8,"t":"${filling}"},"id":7}\n`],
    ["escaped", `{"jsonrpc":"2.0","method":"ping","params":{"t":"${filling}"},"\\u0069d":7}\n`],
  ])("is answered once when it asks, with its id %s", async (_where, line) => {
    for (const size of [line.length, 7, 1]) {
      const { client, heard } = stage(OPEN, { maxMessageBytes: MAX });
      const pieces = line.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      await client(...pieces, ask(9));
      expect(heard("client")).toBe(failure(7, -32600, TOO_LARGE));
      expect(heard("server")).toBe(ask(9));
    }
  });

  test("is not answered when it does not ask, or nobody can tell who did", async () => {
    const { client, heard } = stage(OPEN, { maxMessageBytes: MAX });
    await client(
      `{"jsonrpc":"2.0","method":"notifications/x","params":{"t":"${filling}"}}\n`,
      `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","params":{"t":"${filling}"}}\n`,
      `${filling}x\n`,
      `["${filling}",7]\n`,
    );
    expect(heard("client")).toBe("");
    expect(heard("server")).toBe("");
  });

  test("ends the request it answers, once", async () => {
    const { client, server, heard } = stage(OPEN, { maxMessageBytes: MAX });
    await client(ask(7));
    await server(`{"jsonrpc":"2.0","result":{"t":"${filling}"},"id":7}\n`, answer(7));
    expect(heard("client")).toBe(failure(7, -32000, "Response too large"));
    expect(heard("server")).toBe(ask(7));
  });

  test("ends nothing when it answers what nobody asked, or what the server has not seen", async () => {
    const { client, server, heard } = stage(denying("^x$"), { maxMessageBytes: MAX });
    await client('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe_tool"}}\n');
    await server(
      `{"jsonrpc":"2.0","id":7,"result":"${filling}"}\n`,
      `{"jsonrpc":"2.0","id":8,"result":"${filling}"}\n`,
    );
    expect(heard("client")).toBe("");
  });

  test("from the server is answered when it asks", async () => {
    const { server, heard } = stage(OPEN, { maxMessageBytes: MAX });
    await server(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"t":"${filling}"}}\n`);
    expect(heard("server")).toBe(failure(7, -32600, TOO_LARGE));
    expect(heard("client")).toBe("");
  });

  test("that has an id but neither method nor result ends nobody's request", async () => {
    const { client, server, heard } = stage(OPEN, { maxMessageBytes: MAX });
    await server(ask(7));
    await client(`{"jsonrpc":"2.0","id":7,"METHOD":"ping","params":{"t":"${filling}"}}\n`);
    expect(heard("server")).toBe("");
    await client(answer(7));
    expect(heard("server")).toBe(answer(7));
  });

  test("hides no message in its end", async () => {
    const { client, heard } = stage(OPEN, { maxMessageBytes: MAX });
    await client(`${filling}x`, filling, ask(1), ask(2));
    expect(heard("server")).toBe(ask(2));
  });

  test("of exactly the limit is not too large", async () => {
    const { client, heard } = stage(OPEN, { maxMessageBytes: ask(1).length - 1 });
    await client(ask(1), ` ${ask(2)}`);
    expect(heard("server")).toBe(ask(1));
    expect(heard("client")).toBe(failure(2, -32600, TOO_LARGE));
  });

  test("answers with JSON whatever its id looks like", async () => {
    for (const id of ['"1"ull', '"a\u0001b"', '"a" "b"', '"a\rb"']) {
      const { client, heard } = stage(OPEN, { maxMessageBytes: MAX });
      await client(`{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"t":"${filling}"}}\n`);
      const lines = heard("client")
        .split(/[\r\n]/)
        .filter((line) => line !== "");
      for (const line of lines) expect(() => JSON.parse(line), line).not.toThrow();
    }
  });
});

test("half a line at the end of a stream is not forwarded, in either direction", async () => {
  const relay = stage(OPEN);
  await relay.client(ask(1), ask(2).trimEnd());
  await relay.server(answer(1), '{"jsonrpc":"2.0","method":"notifications/message","params":{}}');
  await relay.end();
  expect(relay.heard("server")).toBe(ask(1));
  expect(relay.heard("client")).toBe(answer(1));
  expect(relay.troubles).toEqual(["wire:half-line", "wire:half-line"]);
});

test("blank lines are passed over in silence, and what is around them leaves as it came", async () => {
  const { client, heard, troubles } = stage(OPEN);
  await client(`\n  \n${ask(1)}\r\n\t\n\r\n${ask(2)}\n`);
  expect(heard("server")).toBe(ask(1) + ask(2));
  expect(heard("client")).toBe("");
  expect(troubles).toEqual([]);
});

test("a line that ends with CR LF passes with both", async () => {
  const { client, heard } = stage(OPEN);
  const line = ask(1).replace("\n", "\r\n");
  await client(line);
  expect(heard("server")).toBe(line);
});

const flood = (start: string, bytes: number): string => start + "x".repeat(bytes - start.length);

describe("a message that is too large and does not end", () => {
  const limits = { maxMessageBytes: 100, maxBufferBytes: 200 };

  test("is answered one byte past the limit, and what comes behind its end is heard", async () => {
    const { client, heard } = stage(OPEN, limits);
    await client(flood('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"', 200));
    expect(heard("client")).toBe("");
    await client("x");
    expect(heard("client")).toBe(failure(7, -32600, TOO_LARGE));
    await client(flood("", 10_000), '"}}\n', ask(8));
    expect(heard("client")).toBe("");
    expect(heard("server")).toBe(ask(8));
  });

  test("of the server's is an error for whoever waits", async () => {
    const { client, server, heard, events } = stage(OPEN, limits);
    await client(ask(7), ask(8));
    await server(flood('{"jsonrpc":"2.0","id":7,"result":{"a":"', 201));
    expect(heard("client")).toBe(failure(7, -32000, "Response too large"));
    await server('"}}\n', answer(8));
    expect(heard("client")).toBe(answer(8));
    expect(events.filter(({ rule }) => rule === "strict:too-large")).toHaveLength(1);
  });
});

const nested = (depth: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${"[".repeat(depth - 2)}${"]".repeat(depth - 2)}}}\n`;

describe("a message that is nested", () => {
  const TOO_DEEP = failure(1, -32600, "Invalid request: nested too deeply");

  test.each([128, 8])("as deep as the limit of %i passes, and one level deeper is refused", async (maxDepth) => {
    const { client, heard } = stage(OPEN, { maxDepth });
    await client(nested(maxDepth + 1));
    expect([heard("client"), heard("server")]).toEqual([TOO_DEEP, ""]);
    await client(nested(maxDepth));
    expect([heard("client"), heard("server")]).toEqual(["", nested(maxDepth)]);
  });

  test("deeper than the limit by the server is an error for whoever waits", async () => {
    const { client, server, heard } = stage(OPEN, { maxDepth: 8 });
    await client(ask(1));
    await server(`{"jsonrpc":"2.0","id":1,"result":{"a":${"[".repeat(7)}${"]".repeat(7)}}}\n`);
    expect(heard("client")).toBe(failure(1, -32000, "Invalid response"));
  });
});
