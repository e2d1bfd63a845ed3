import { describe, expect, test } from "vitest";
import { openMessage, whole } from "../../src/message/message.ts";
import { readToolPage, type ToolPage } from "../../src/session/tool-page.ts";
import { costOfWeighing, leastCpuTime, LONG_KEY } from "../support/cpu.ts";

/** Reads a result as the session does: only what the scanner has found valid. */
function page(result: string): ToolPage | undefined {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
  const { envelope } = openMessage(whole(bytes), "down", "refuse");
  if (envelope.kind !== "result") throw new Error(`read as ${envelope.kind}`);
  return readToolPage(bytes, envelope.result);
}

const tool = (name: string): string => `{"name":${name},"inputSchema":{}}`;

describe("the names in a list", () => {
  test.each([
    ["none", '{"tools":[]}', []],
    ["in order", `{"tools":[${tool('"b"')}, ${tool('"a"')}]}`, ["b", "a"]],
    ["decoded", `{"tools":[${tool('"\\u0061é😀"')}]}`, ["aé😀"]],
    ["the same twice", `{"tools":[${tool('"a"')},${tool('"a"')}]}`, ["a", "a"]],
    ["empty", `{"tools":[${tool('""')}]}`, [""]],
    ["by escaped keys", '{"t\\u006fols":[{"n\\u0061me":"a","inputSchema":{}}]}', ["a"]],
    [
      "a name that is no text is no tool",
      `{"tools":[${tool("7")},${tool("null")},${tool('["a"]')}]}`,
      [null, null, null],
    ],
    ["what is not an object is not a tool", `{"tools":[null,7,false,${tool('"a"')}]}`, [null, null, null, "a"]],
    ["no name is no tool", '{"tools":[{"inputSchema":{}},{}]}', [null, null]],
    [
      "no schema is no tool",
      '{"tools":[{"name":"a"},{"name":"b","inputSchema":true},{"name":"c","inputSchema":[]}]}',
      [null, null, null],
    ],
    ["half a surrogate pair is no name", `{"tools":[${tool('"\\ud800"')}]}`, [null]],
    ["1,024 characters are a name", `{"tools":[${tool(`"${"x".repeat(1024)}"`)}]}`, ["x".repeat(1024)]],
    ["1,025 are none", `{"tools":[${tool(`"${"x".repeat(1025)}"`)}]}`, [null]],
    [
      "names elsewhere do not count",
      '{"tools":[{"annotations":{"name":"x"},"inputSchema":{"name":"y"},"name":"a"}]}',
      ["a"],
    ],
  ])("%s", (_what, result, names) => {
    expect(page(result)?.tools.map(({ name }) => name)).toEqual(names);
  });
});

describe("what is no list, or one that peers may read differently", () => {
  test.each([
    ["no object", "[]"],
    ["null", "null"],
    ["no tools", "{}"],
    ["tools that are no list", '{"tools":{"0":{"name":"a"}}}'],
    ["tools that are null", '{"tools":null}'],
    ["another case of tools", '{"tools":[],"Tools":[]}'],
    ["only another case of tools", '{"TOOLS":[]}'],
    ["tools and something unseen", '{"tools":[],"tools\\u200b":[]}'],
    ["an entry that is text", '{"tools":["denied_tool"]}'],
    ["an entry that is a list", '{"tools":[[]]}'],
    ["another case of a name", '{"tools":[{"name":"a","Name":"b","inputSchema":{}}]}'],
    ["a name in full width", '{"tools":[{"name":"a","ｎame":"b","inputSchema":{}}]}'],
    ["another case of a schema", '{"tools":[{"name":"a","inputSchema":{},"InputSchema":{}}]}'],
    ["a cursor that is a number", '{"tools":[],"nextCursor":5}'],
    ["a cursor that is an object", '{"tools":[],"nextCursor":{}}'],
    ["another case of the cursor", '{"tools":[],"nextcursor":"x"}'],
  ])("%s", (_what, result) => {
    expect(page(result)).toBeUndefined();
  });
});

test("an entry that is not a tool says why", () => {
  const bad = `null,{"inputSchema":{}},${tool(`"${"x".repeat(1025)}"`)},${tool('"\\ud800"')},{"name":"b\\u001b","inputSchema":[]}`;
  expect(page(`{"tools":[${bad},${tool('"a"')}]}`)?.tools.map(({ fault }) => fault)).toEqual([
    "it is not an object",
    "its name is missing or is not text",
    "its name has more than 1024 characters",
    "its name is not valid Unicode",
    "inputSchema of b\\u001b is not an object",
    null,
  ]);
});

test.each([
  ["in the result", '{"tools":[],"@":1}'],
  ["in a tool", '{"tools":[{"name":"a","inputSchema":{},"@":1}]}'],
])("a key of megabytes is not weighed for as long as it is: %s", async (_where, result) => {
  const line = result.replace("@", LONG_KEY);
  expect(await leastCpuTime(() => page(line))).toBeLessThan((await costOfWeighing()) / 2);
});

test.each([
  ['{"tools":[]}', null],
  ['{"tools":[],"nextCursor":null}', null],
  ['{"tools":[],"nextCursor":"two"}', "two"],
  ['{"nextCursor":"","tools":[]}', ""],
  ['{"next\\u0043ursor":"\\u00e9","tools":[]}', "é"],
])("the page after %s is asked for with %j", (result, next) => {
  expect(page(result)?.next).toBe(next);
});
