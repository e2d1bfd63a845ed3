import { expect, test } from "vitest";
import { denying, OPEN, play, stage } from "../support/play.ts";

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';
const tool = (name: string, more = ""): string => `{"name":"${name}","inputSchema":{"type":"object"}${more}}`;
const call = (name: string, id = 2): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}\n`;
const notFound = (name: string, id = 2): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Tool not found: ${name}"}}\n`;

test("hidden tools are cut out of the list, and every other byte stays", async () => {
  const heard = await play(
    denying("^file_"),
    { client: LIST },
    {
      server: `{ "result" : {"tools": [ ${tool("file_a")} , ${tool("b", ',"annotations":{"x":1.0}')},${tool("file_c")},\t${tool("d")} , ${tool("file_e")} ],"_meta":{}}, "jsonrpc":"2.0","id":1}\n`,
    },
  );
  expect(heard).toEqual({
    server: LIST,
    client: `{ "result" : {"tools": [ ${tool("b", ',"annotations":{"x":1.0}')},${tool("d")} ],"_meta":{}}, "jsonrpc":"2.0","id":1}\n`,
  });
});

test("without a filter a list passes as it came, whatever is in it", async () => {
  const answer = '{"jsonrpc":"2.0","id":1,"result":{"tools":{"odd":true}}}\n';
  expect(await play(OPEN, { client: LIST }, { server: answer })).toEqual({ server: LIST, client: answer });
});

test("a denied tool and one that never was get the same answer, and nothing goes upstream", async () => {
  const { client, server, heard } = stage(denying("^file_"));
  await client(LIST);
  await server(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tool("file_a")},${tool("b")}]}}\n`);
  heard("client");
  heard("server");
  await client(call("file_a", 2), call("never_was", 3), call("b", 4));
  expect(heard("client")).toBe(notFound("file_a", 2) + notFound("never_was", 3));
  expect(heard("server")).toBe(call("b", 4));
});

test("a call before the list is known waits for the list, which we fetch ourselves", async () => {
  const { client, server, heard, session } = stage(denying("^file_"));
  await client(call("file_a", 2), call("b", 3), '{"jsonrpc":"2.0","id":4,"method":"ping"}\n');
  const asked = heard("server");
  const own = `fairlead-${session.id}-1`;
  expect(asked).toBe(
    `{"jsonrpc":"2.0","id":"${own}","method":"tools/list","params":{}}\n{"jsonrpc":"2.0","id":4,"method":"ping"}\n`,
  );
  await server(
    `{"jsonrpc":"2.0","id":"${own}","result":{"tools":[${tool("file_a")},${tool("b")}]}}\n{"jsonrpc":"2.0","id":4,"result":{}}\n`,
  );
  expect(heard("client")).toBe(`{"jsonrpc":"2.0","id":4,"result":{}}\n${notFound("file_a", 2)}`);
  expect(heard("server")).toBe(call("b", 3));
});

test("a filter that only watches notes and counts what it would have refused, also before it knows the list", async () => {
  const { client, server, heard, witness, events } = stage(denying("^secret_"), { observe: true });
  const notes = (): (string | null)[] => events.map(({ note }) => note);
  await client(call("secret_one", 1), call("other", 2));
  expect(heard("server")).toBe(call("secret_one", 1) + call("other", 2));
  expect(notes()).toEqual(["would:deny:tools", null]);
  await client('{"jsonrpc":"2.0","id":3,"method":"tools/list"}\n');
  const tools = '[{"name":"secret_one","inputSchema":{}},{"name":"known","inputSchema":{}}]';
  const list = `{"jsonrpc":"2.0","id":3,"result":{"tools":${tools}}}\n`;
  await server(list);
  expect(heard("client")).toBe(list);
  await client(call("secret_one", 4), call("other", 5), call("known", 6));
  expect(notes().slice(-4)).toEqual(["would:hide:tools", "would:deny:tools", "would:deny:tools", null]);
  expect(witness.counts()).toMatchObject({ "would deny tools": 3, "would hide tools": 1 });
});
