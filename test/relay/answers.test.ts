import { describe, expect, test } from "vitest";
import { denying, OPEN, play, stage } from "../support/play.ts";

const ask = (id: string, method = "ping"): string => `{"jsonrpc":"2.0","id":${id},"method":"${method}"}\n`;
const answer = (id: string, result = "{}"): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}\n`;
const failure = (id: string, code = -32000, message = "Invalid response"): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"${message}"}}\n`;
const IN_USE = failure("null", -32600, "Invalid request: the id is in use");

describe.each([{ asks: "client", answers: "server" } as const, { asks: "server", answers: "client" } as const])(
  "what the $asks asks",
  ({ asks, answers }) => {
    test.each(["0", "7", "-7", "9007199254740991", '"a"', '"__proto__"', '"\\u0061"', '"é"'])(
      "is answered under the id it was asked with: %s",
      async (id) => {
        const relay = stage(OPEN);
        await relay[asks](ask(id));
        await relay[answers](answer(id));
        expect(relay.heard(answers)).toBe(ask(id));
        expect(relay.heard(asks)).toBe(answer(id));
      },
    );

    test("is answered once: the second answer is dropped", async () => {
      const relay = stage(OPEN);
      await relay[asks](ask("7"));
      await relay[answers](answer("7", '{"first":1}'), answer("7", '{"second":1}'), failure("7"));
      expect(relay.heard(asks)).toBe(answer("7", '{"first":1}'));
      expect(relay.troubles).toEqual(["session:stray-answer", "session:stray-answer"]);
    });

    test("may be asked again under the same id once it is answered", async () => {
      const relay = stage(OPEN);
      for (let turn = 0; turn < 3; turn++) {
        await relay[asks](ask("7"));
        await relay[answers](answer("7"));
        expect(relay.heard(answers)).toBe(ask("7"));
        expect(relay.heard(asks)).toBe(answer("7"));
      }
    });

    test.each([
      ["7", "7"],
      ["7", '"7"'],
      ['"7"', "7"],
      ["7", '"0x7"'],
      ["7", '" 7"'],
      ["0", '""'],
      ['"a"', '"\\u0061"'],
    ])("is refused while its id is in use: %s and then %s", async (first, second) => {
      const relay = stage(OPEN);
      await relay[asks](ask(first), ask(second, "vendor/other"));
      expect(relay.heard(answers)).toBe(ask(first));
      expect(relay.heard(asks)).toBe(IN_USE);
      await relay[answers](answer(first));
      expect(relay.heard(asks)).toBe(answer(first));
    });

    test.each(['"7.0"', '"0x7"', '"+7"', '" 7"', '"7e0"', '"\\u0037.0"'])(
      "ends with an error when its answer is spelled %s, which some take for 7",
      async (respelled) => {
        const relay = stage(OPEN);
        await relay[asks](ask("7"));
        await relay[answers](answer(respelled, '{"leak":1}'));
        expect(relay.heard(asks)).toBe(failure("7"));
        await relay[answers](answer("7"));
        expect(relay.heard(asks)).toBe("");
      },
    );

    test.each(["7.0", "7e0", "70e-1"])("ends with an error when its answer's id is no id: %s", async (id) => {
      const relay = stage(OPEN);
      await relay[asks](ask("7"));
      await relay[answers](answer(id));
      expect(relay.heard(asks)).toBe(failure("7"));
      await relay[answers](answer("7"));
      expect(relay.heard(asks)).toBe("");
    });

    test.each([
      ["a repeated key", '{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}'],
      ["a carriage return", '{"jsonrpc":"2.0","id":7,\r"result":{}}'],
      ["both a result and an error", '{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}'],
      ["no version", '{"id":7,"result":{}}'],
      ["another case of a key", '{"jsonrpc":"2.0","id":7,"result":{},"Result":{}}'],
      ["not JSON", '{"jsonrpc":"2.0","id":7,"result":{}}}'],
      ["no UTF-8", Buffer.from('{"jsonrpc":"2.0","id":7,"result":"\xff"}', "latin1")],
      ["too deep", `{"jsonrpc":"2.0","id":7,"result":${"[".repeat(200)}${"]".repeat(200)}}`],
    ])("ends with one error when its answer cannot be read: %s", async (_what, line) => {
      const relay = stage(OPEN);
      await relay[asks](ask("7"));
      await relay[answers](line, "\n");
      expect(relay.heard(asks)).toBe(failure("7"));
      await relay[answers](answer("7"));
      expect(relay.heard(asks)).toBe("");
      expect(relay.heard(answers)).toBe(ask("7"));
    });

    test("leaves the other side's ids alone", async () => {
      const relay = stage(OPEN);
      await relay[asks](ask("7"));
      await relay[answers](ask("7"));
      await relay[asks](answer("7", '{"to":"answers"}'));
      await relay[answers](answer("7", '{"to":"asks"}'));
      expect(relay.heard(answers)).toBe(ask("7") + answer("7", '{"to":"answers"}'));
      expect(relay.heard(asks)).toBe(ask("7") + answer("7", '{"to":"asks"}'));
    });

    test("is not answered by the one who asked it", async () => {
      const relay = stage(OPEN);
      await relay[asks](ask("7"), answer("7"));
      expect(relay.heard(answers)).toBe(ask("7"));
      expect(relay.heard(asks)).toBe("");
    });
  },
);

describe("what is refused under an id that is in use is refused without it: its sender waits for another answer", () => {
  test.each([
    ["a repeated key", '{"jsonrpc":"2.0","id":7,"method":"ping","a":1,"a":2}'],
    ["a carriage return", '{"jsonrpc":"2.0","id":7,\r"method":"ping"}'],
    ["another case of a method", '{"jsonrpc":"2.0","id":7,"method":"Ping"}'],
    ["too deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":${"[".repeat(200)}${"]".repeat(200)}}}`],
    ["too large", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"${"x".repeat(5000)}"}}`],
    ["the other side's to ask", '{"jsonrpc":"2.0","id":7,"method":"roots/list"}'],
    ["in quotes", '{"jsonrpc":"2.0","id":"7","method":"ping","a":1,"a":2}'],
  ])("%s", async (_what, line) => {
    const { client, server, heard } = stage(OPEN, { maxMessageBytes: 4000 });
    await client(ask("7"), line, "\n");
    const refusal = JSON.parse(heard("client")) as { id: unknown };
    expect(refusal.id).toBeNull();
    await server(answer("7"));
    expect(heard("client")).toBe(answer("7"));
  });
});

test("an answer that nobody waits for is dropped", async () => {
  expect(await play(OPEN, { server: answer("1") }, { client: answer("2") }, { server: failure("3") })).toEqual({
    client: "",
    server: "",
  });
});

test("an error without an id passes, and a result without one does not", async () => {
  const error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n';
  const heard = await play(
    OPEN,
    { client: ask("7") },
    { server: error },
    { server: answer("null") },
    { client: error },
  );
  expect(heard).toEqual({ client: error, server: ask("7") + error });
});

test("a list that answers under another spelling of its id does not get past the filter", async () => {
  const list = '{"tools":[{"name":"denied_tool","inputSchema":{}}]}';
  for (const id of ['"7.0"', '"0x7"', "7.0", '"7 "', '"+7"']) {
    const { client, server, heard } = stage(denying("^denied_tool$"));
    await client(ask("7", "tools/list"));
    await server(answer(id, list));
    expect(heard("client")).toBe(failure("7"));
  }
  const { client, server, heard } = stage(denying("^denied_tool$"));
  await client(ask("7", "tools/list"));
  await server(answer('"7"', list));
  expect(heard("client")).toBe(answer('"7"', '{"tools":[]}'));
});

describe("who may say what", () => {
  test.each(["tools/call", "tools/list", "initialize", "resources/read", "server/discover"])(
    "a server that asks for %s is told there is no such method",
    async (method) => {
      const heard = await play(OPEN, { server: ask("1", method) });
      expect(heard).toEqual({ client: "", server: failure("1", -32601, "Method not found") });
    },
  );

  test.each(["sampling/createMessage", "elicitation/create", "roots/list"])(
    "a client that asks for %s is told there is no such method",
    async (method) => {
      const heard = await play(OPEN, { client: ask("1", method) });
      expect(heard).toEqual({ server: "", client: failure("1", -32601, "Method not found") });
    },
  );

  test("a notice that only the other side may give is dropped", async () => {
    const heard = await play(
      OPEN,
      { client: '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' },
      { server: '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' },
    );
    expect(heard).toEqual({ client: "", server: "" });
  });

  test("a call without an id is dropped, allowed or not", async () => {
    const call = '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"safe_tool"}}\n';
    for (const policy of [OPEN, denying("^denied_tool$")]) {
      const heard = await play(policy, { client: call }, { client: call.replace("safe", "denied") });
      expect(heard).toEqual({ client: "", server: "" });
    }
  });
});

describe("a notification with an id", () => {
  test.each(["notifications/cancelled", "notifications/progress", "notifications/initialized"])(
    "is refused, and its sender is told: %s",
    async (method) => {
      const { client, heard, events } = stage(OPEN);
      await client(`{"jsonrpc":"2.0","id":5,"method":"${method}","params":{}}\n`);
      expect(heard("server")).toBe("");
      expect(heard("client")).toBe(
        '{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Invalid request: a notification has no id"}}\n',
      );
      expect(events.at(-1)?.rule).toBe("session:notification-with-id");
    },
  );

  test("passes where it is nobody's, and is audited as a request", async () => {
    const { client, heard, events } = stage(OPEN);
    const line = '{"jsonrpc":"2.0","id":5,"method":"notifications/run_tool","params":{}}\n';
    await client(line);
    expect(heard("server")).toBe(line);
    expect(events.at(-1)).toMatchObject({ kind: "request", class: "log" });
  });
});
