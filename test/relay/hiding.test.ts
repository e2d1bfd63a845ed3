import { describe, expect, test } from "vitest";
import { parsePattern } from "../../src/policy/patterns.ts";
import { createToolFilter, NOT_CHECKED, TOO_LONG } from "../../src/policy/tool-filter.ts";
import { cpuTime } from "../support/cpu.ts";
import { denying, stage } from "../support/play.ts";

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';
const page = (...names: string[]): string =>
  `{"jsonrpc":"2.0","id":1,"result":{"tools":[${names.map((name) => `{"name":${JSON.stringify(name)},"inputSchema":{}}`).join(",")}]}}\n`;
const call = (name: string, id = 2): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${JSON.stringify(name)}}}\n`;
const log = (text: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${text}"}}\n`;
const messageOf = (line: string): string => (JSON.parse(line) as { error: { message: string } }).error.message;

/** A relay that has seen these tools. */
async function showing(policy: ReturnType<typeof denying>, ...names: string[]) {
  const relay = stage(policy);
  await relay.client(LIST);
  await relay.server(page(...names));
  const seen = JSON.parse(relay.heard("client")) as { result: { tools: { name: string }[] } };
  relay.heard("server");
  return { ...relay, seen: seen.result.tools.map(({ name }) => name) };
}

describe("a tool whose name a careless server takes for a hidden one", () => {
  const VARIANTS = [
    "Denied_Tool",
    "DENIED_TOOL",
    "ｄenied_tool",
    "denied\u200b_tool",
    "denied_tool\u0000",
    " denied_tool",
    "denied_tool\u{e0041}",
  ];

  test.each(VARIANTS)("is hidden with it, wherever it stands: %j", async (variant) => {
    for (const names of [
      ["denied_tool", variant, "safe_tool"],
      [variant, "safe_tool", "denied_tool"],
    ]) {
      const { seen, client, heard } = await showing(denying("^denied_tool$"), ...names);
      expect(seen).toEqual(["safe_tool"]);
      await client(call(variant), call("safe_tool", 3));
      expect(heard("server")).toBe(call("safe_tool", 3));
      expect(messageOf(heard("client"))).toMatch(/^Tool not found: /);
    }
  });

  test("is another tool where none is hidden", async () => {
    const { seen } = await showing(denying("^other$"), "Safe_Tool", "safe_tool");
    expect(seen).toEqual(["Safe_Tool", "safe_tool"]);
  });

  test("is hidden on a page of its own, once the other is known", async () => {
    const { client, server, heard } = stage(denying("^denied_tool$"));
    await client(LIST);
    await server(page("denied_tool").replace("]}}", '],"nextCursor":"2"}}'));
    await client('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}\n');
    heard("client");
    await server(page("Denied_Tool", "b"));
    expect(heard("client")).toBe(page("b"));
  });
});

test.each([
  ["an escape character", "\u001b[2Jx", "\\u001b[2Jx"],
  ["a newline", "x\nALLOW y", "x\\u000aALLOW y"],
  ["a right-to-left override", "\u202ex", "\\u202ex"],
  ["a tag character", "x\u{e0041}", "x\\u{e0041}"],
  ["a thousand characters", "x".repeat(1000), `${"x".repeat(256)}…`],
  ["a quote and a backslash", 'a"b\\c', 'a"b\\c'],
  ["__proto__", "__proto__", "__proto__"],
  ["nothing", "", ""],
])("a name that is not found is shown so that it can do no harm: %s", async (_what, name, shown) => {
  const { client, heard } = await showing(denying("^denied_tool$"), "safe_tool");
  await client(call(name));
  expect(messageOf(heard("client"))).toBe(`Tool not found: ${shown}`);
  expect(heard("server")).toBe("");
});

describe("a pattern that would take for ever on a name of the server's", () => {
  const HANGING = "(a|aa)+$";
  const NAME = `${"a".repeat(60)}!`;

  test("hides everything and lets nobody wait", async () => {
    const started = performance.now();
    const hung: string[] = [];
    const filter = createToolFilter({
      deny: [parsePattern(HANGING, "deny")],
      allow: [],
      onHang: (pattern) => hung.push(pattern),
    });
    const { seen, client, heard } = await showing({ tools: filter }, "b", NAME, "c");
    expect(performance.now() - started).toBeLessThan(4000);
    expect(seen).toEqual([]);
    expect(hung).toEqual([HANGING]);
    await client(call("b"), call(NAME, 3));
    expect(heard("server")).toBe("");
    expect(heard("client").match(/Tool not found/g)).toHaveLength(2);
  });

  test("goes on hiding what comes later, without running again", async () => {
    const filter = createToolFilter({ deny: [parsePattern(HANGING, "deny")], allow: [] });
    expect(filter.hiddenBy([NAME])).toEqual([HANGING]);
    const started = performance.now();
    expect(filter.hiddenBy([`b${NAME}`, "c"])).toEqual([HANGING, HANGING]);
    expect(performance.now() - started).toBeLessThan(200);
  });

  test("lets nothing in where it is what lets things in", async () => {
    const filter = createToolFilter({
      deny: [],
      allow: [parsePattern(HANGING, "allow"), parsePattern("^b$", "allow")],
    });
    const hidden = filter.hiddenBy(["b", NAME, "c"]);
    expect(hidden[1]).not.toBeNull();
    expect(hidden[2]).not.toBeNull();
  });
});

test("names there was no time for are hidden, and looked at when they are listed again", () => {
  const filter = createToolFilter({ deny: [parsePattern(".*_write$", "deny")], allow: [] });
  const names = Array.from({ length: 1000 }, (_, index) => `${index}${"_writ".repeat(203)}`);
  const first = filter.hiddenBy(names);
  expect(first.indexOf(NOT_CHECKED)).toBeGreaterThan(0);
  expect(first.filter((by) => by === NOT_CHECKED || by === null)).toHaveLength(1000);
  for (let time = 0; time < 200 && filter.hiddenBy(names).includes(NOT_CHECKED); time++);
  expect(filter.hiddenBy([...names, "x_write"])).toEqual([...names.map(() => null), ".*_write$"]);
});

test("names that grow when they are compared are hidden, and not kept", () => {
  const filter = createToolFilter({ deny: [parsePattern("^delete_", "deny")], allow: [] });
  expect(filter.hiddenBy(["\ufdfa".repeat(129), "é".repeat(129), "\ufdfa".repeat(20)])).toEqual([
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
  ]);
  expect(filter.hiddenBy(["é".repeat(128), "X".repeat(1024), "\ufdfa"])).toEqual([null, null, null]);
});

test("a log message is looked through in one go, however many tools are hidden", async () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `denied_tool_${index}`);
  const { server, heard, events } = await showing(denying("^denied_tool_"), ...names);
  const started = performance.now();
  await server(log("denied_tool ".repeat(80_000)));
  expect(performance.now() - started).toBeLessThan(1000);
  heard("client");
  await server(log("see denied_tool_77"));
  expect(heard("client")).toBe(log("see denied_tool_77"));
  expect(events.at(-1)?.note).toBe("hidden-name");
});

test("names and texts made to be compared for long are not", async () => {
  const names = Array.from({ length: 200 }, (_, index) => `denied_${"a".repeat(817 + index)}`);
  const { server, heard } = await showing(denying("^denied_"), ...names);
  const text = `denied_${"a".repeat(810)}b`.repeat(7) + "a".repeat(10_000);
  const look = async (): Promise<void> => {
    for (let time = 0; time < 5; time++) await server(log(text));
  };
  expect(await cpuTime(look)).toBeLessThan(1000);
  expect(heard("client")).toBe(log(text).repeat(5));
});

test("an annotation of megabytes is passed on like any other", async () => {
  const { client, server, heard } = stage(denying("^denied_tool$"));
  const list = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"x-mcp-header":"${"a".repeat(9_000_000)}"}}]}}\n`;
  await client(LIST);
  await server(list);
  expect(heard("client") === list).toBe(true);
});

test("with an allow list only what it names is shown, and deny still wins", async () => {
  const filter = createToolFilter({ deny: [parsePattern("write", "deny")], allow: [parsePattern("^file_", "allow")] });
  const { seen, client, heard } = await showing({ tools: filter }, "file_read", "file_write", "net_read");
  expect(seen).toEqual(["file_read"]);
  await client(call("file_write"), call("net_read", 3), call("file_read", 4));
  expect(heard("server")).toBe(call("file_read", 4));
});
