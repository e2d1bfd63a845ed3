import { describe, expect, test } from "vitest";
import { denying, stage } from "../support/play.ts";

const tool = (name: string, more = ""): string => `{"name":"${name}","inputSchema":{}${more}}`;
const list = (id: number | string, cursor?: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/list"${cursor === undefined ? "" : `,"params":{"cursor":"${cursor}"}`}}\n`;
const page = (id: number | string, ...members: string[]): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${members.join(",")}}}\n`;
const tools = (...names: string[]): string => `"tools":[${names.map((name) => tool(name)).join(",")}]`;
const call = (id: number, name: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}\n`;
const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n';

/** The lines heard, without the requests that the relay made itself; those are in `own`. */
function heardBy(relay: ReturnType<typeof stage>) {
  const lines = relay
    .heard("server")
    .split("\n")
    .filter((line) => line !== "");
  const isOwn = (line: string): boolean => line.includes(`"fairlead-${relay.session.id}-`);
  return {
    own: lines.filter(isOwn).map((line) => JSON.parse(line) as { id: string; params: unknown }),
    rest: lines.filter((line) => !isOwn(line)),
  };
}

test("pages pass one by one as the client asks for them, each without what is hidden, the cursor kept", async () => {
  const relay = stage(denying("^denied_"));
  await relay.client(list(1));
  await relay.server(page(1, tools("a", "denied_1"), '"nextCursor":""'));
  await relay.client(list(2, ""));
  await relay.server(page(2, '"nextCursor":"3"', tools("denied_2")));
  await relay.client(list(3, "3"));
  await relay.server(page(3, tools("b")));
  expect(relay.heard("server")).toBe(list(1) + list(2, "") + list(3, "3"));
  expect(relay.heard("client")).toBe(
    page(1, tools("a"), '"nextCursor":""') + page(2, '"nextCursor":"3"', tools()) + page(3, tools("b")),
  );
});

describe("once all pages are known, a list is answered from them", () => {
  test("with every allowed tool as the server wrote it, and the other members of the first page", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(list(1));
    await relay.server(
      page(
        1,
        '"nextCursor":"2"',
        '"ttlMs": 5.0',
        `"tools":[ ${tool("a", ',"x":1.0')} , ${tool("denied_1")} ]`,
        '"_meta":{"k":"é"}',
      ),
    );
    await relay.client(list(2, "2"));
    await relay.server(page(2, '"other":1', `"tools":[${tool("b", ',"title" : "B"')}]`));
    relay.heard("client");
    relay.heard("server");
    await relay.client(list('"x"'), '{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"cursor":null}}\n');
    const merged = [
      '"ttlMs": 5.0',
      `"tools":[${tool("a", ',"x":1.0')},${tool("b", ',"title" : "B"')}]`,
      '"_meta":{"k":"é"}',
    ];
    expect(relay.heard("client")).toBe(page('"x"', ...merged) + page(9, ...merged));
    expect(relay.heard("server")).toBe("");
  });

  test("but a page of its own is the server's to answer", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(list(1));
    await relay.server(page(1, tools("a")));
    relay.heard("server");
    await relay.client(list(2, "somewhere"));
    expect(relay.heard("server")).toBe(list(2, "somewhere"));
    await relay.server(page(2, tools("denied_1", "c")));
    expect(relay.heard("client")).toContain(page(2, tools("c")));
    await relay.client(call(3, "c"));
    expect(relay.heard("client")).toContain("Tool not found: c");
  });

  test("and a cursor that is no text does not make a page the first one", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":2}}\n');
    await relay.server(page(1, tools("second_page")));
    relay.heard("server");
    await relay.client(list(2));
    expect(relay.heard("server")).toBe(list(2));
  });
});

describe("a call", () => {
  test("of a tool on a page that was seen passes at once, the list complete or not", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(list(1));
    await relay.server(page(1, tools("a"), '"nextCursor":"2"'));
    relay.heard("server");
    await relay.client(call(2, "a"));
    expect(relay.heard("server")).toBe(call(2, "a"));
  });

  test.each(["b", "denied_2", "never_was"])(
    "of what may stand on a later page waits for all pages: %s",
    async (name) => {
      const relay = stage(denying("^denied_"));
      await relay.client(list(1));
      await relay.server(page(1, tools("a"), '"nextCursor":"2"'));
      relay.heard("client");
      relay.heard("server");
      await relay.client(call(2, name));
      const first = heardBy(relay);
      expect(first.own.map(({ params }) => params)).toEqual([{}]);
      await relay.server(page(first.own[0].id, tools("a"), '"nextCursor":""'));
      const second = heardBy(relay);
      expect(second.own.map(({ params }) => params)).toEqual([{ cursor: "" }]);
      await relay.server(page(second.own[0].id, tools("b", "denied_2")));
      expect(relay.heard("server")).toBe(name === "b" ? call(2, "b") : "");
      expect(relay.heard("client")).toBe(
        name === "b" ? "" : `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Tool not found: ${name}"}}\n`,
      );
    },
  );

  test.each([
    ["^denied_", "Denied_Tool", "denied_tool"],
    ["^denied_", "ｄenied_tool", "denied_tool"],
    ["^Denied_", "denied_tool", "Denied_Tool"],
  ])("of what a later page may hide waits for it: %s hides %s once there is %s", async (pattern, shown, denied) => {
    const relay = stage(denying(pattern));
    await relay.client(list(1));
    await relay.server(page(1, tools("a", shown), '"nextCursor":"2"'));
    expect(relay.heard("client")).toBe(page(1, tools("a", shown), '"nextCursor":"2"'));
    heardBy(relay);
    await relay.client(call(2, shown), call(3, "a"));
    const first = heardBy(relay);
    expect(first.rest).toEqual([call(3, "a").trimEnd()]);
    await relay.server(page(first.own[0].id, tools("a", shown), '"nextCursor":"2"'));
    await relay.server(page(heardBy(relay).own[0].id, tools(denied)));
    expect(relay.heard("client")).toContain(`Tool not found: ${shown}`);
    expect(relay.heard("server")).toBe("");
    await relay.client(list(4));
    expect(relay.heard("client")).toBe(page(4, tools("a")));
  });

  test("and many more wait for one fetch", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(call(1, "a"), call(2, "b"), call(3, "denied_1"));
    const { own, rest } = heardBy(relay);
    expect([own.length, rest]).toEqual([1, []]);
    await relay.server(page(own[0].id, tools("a", "b", "denied_1")));
    expect(relay.heard("server")).toBe(call(1, "a") + call(2, "b"));
    expect(relay.heard("client")).toContain('"id":3,"error":{"code":-32601');
  });
});

describe("when the server says that its list changed", () => {
  test("the next list and the next call are about the new one", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(list(1));
    await relay.server(page(1, tools("old")), CHANGED);
    expect(relay.heard("client")).toBe(page(1, tools("old")) + CHANGED);
    relay.heard("server");
    await relay.client(list(2));
    expect(relay.heard("server")).toBe(list(2));
    await relay.server(page(2, tools("new", "denied_1")));
    expect(relay.heard("client")).toBe(page(2, tools("new")));
    await relay.client(call(3, "old"), call(4, "new"));
    expect(relay.heard("server")).toBe(call(4, "new"));
    expect(relay.heard("client")).toContain("Tool not found: old");
  });

  test("a call of an old tool waits until the new list is known", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(list(1));
    await relay.server(page(1, tools("old")), CHANGED);
    heardBy(relay);
    await relay.client(call(2, "old"));
    const { own } = heardBy(relay);
    await relay.server(page(own[0].id, tools("new")));
    expect(relay.heard("server")).toBe("");
    expect(relay.heard("client")).toContain("Tool not found: old");
  });

  test("an answer that was asked for before is shown, but not remembered", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(list(1));
    await relay.server(CHANGED, page(1, tools("old", "denied_1")));
    expect(relay.heard("client")).toBe(CHANGED + page(1, tools("old")));
    relay.heard("server");
    await relay.client(list(2));
    expect(relay.heard("server")).toBe(list(2));
  });

  test("while we fetch it, the fetch begins again", async () => {
    const relay = stage(denying("^denied_"));
    await relay.client(call(1, "new"));
    const first = heardBy(relay);
    await relay.server(CHANGED, page(first.own[0].id, tools("old")));
    const second = heardBy(relay);
    expect(second.own).toHaveLength(1);
    await relay.server(page(second.own[0].id, tools("new")));
    expect(relay.heard("server")).toBe(call(1, "new"));
  });
});

test("an answer to our own fetch reaches nobody, whatever it holds and however often it comes", async () => {
  const relay = stage(denying("^denied_"));
  await relay.client(call(1, "a"));
  const { own } = heardBy(relay);
  await relay.server(page(own[0].id, tools("a", "denied_1")), page(own[0].id, tools("denied_1")));
  expect(relay.heard("client")).toBe("");
});
