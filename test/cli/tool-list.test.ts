import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPaint } from "../../src/cli/output.ts";
import { denyPattern, effectOf } from "../../src/cli/tool-effects.ts";
import { composeToolList, proposeDeny, suggestDeny } from "../../src/cli/tool-list.ts";
import { parsePatternList } from "../../src/policy/patterns.ts";
import type { ToolReport } from "../../src/proxy/inspect.ts";

const plain = createPaint({}, {});

function tool(name: string, more: object = {}, hiddenBy: string | null = null): ToolReport {
  const definition = JSON.stringify({ name, inputSchema: { type: "object" }, ...more });
  return { name, hiddenBy, definition, bytes: definition.length, pin: null, formerly: null };
}

function list(tools: readonly ToolReport[], columns: number, paint = plain): string {
  const listed = tools.map((each) => ({ tool: each, fate: [each.hiddenBy ?? "shown"], tokens: 9 }));
  return composeToolList(listed, { paint, columns, fateHeading: [""] });
}

const TOOLS = [
  tool("read_file", { description: "Reads a file.\n\nUse it.", annotations: { readOnlyHint: true } }),
  tool("write_file", { description: "Writes a file", annotations: { readOnlyHint: false, destructiveHint: true } }),
  tool("deleteAll", {}, "^delete"),
  tool("purge-cache"),
];

describe("what a tool may do", () => {
  test.each([
    ["x", { readOnlyHint: true, destructiveHint: true }, "read-only"],
    ["delete_file", { readOnlyHint: true }, "read-only"],
    ["x", { readOnlyHint: false, destructiveHint: false }, "writes"],
    ["x", { readOnlyHint: false }, "destructive"], // as the specification has it
    ["x", { destructiveHint: true }, "destructive"],
    ["delete_file", { title: "Deletes" }, "destructive?"],
    ["deleteFile", null, "destructive?"],
    ["RUN-SHELL", undefined, "destructive?"],
    ["undelete", {}, null],
    ["list_deleted_files", {}, null],
    ["x", "read-only", null],
  ])("%s with the annotations %j: %s", (name, annotations, effect) => {
    expect(effectOf(name, { annotations })).toBe(effect);
  });

  test("of something that is no definition nothing is known", () => {
    for (const odd of [null, undefined, 7, [], "text"]) expect(effectOf("x", odd)).toBeNull();
  });
});

describe("the proposed pattern", () => {
  test("hides what may destroy something and is still shown", () => {
    expect(suggestDeny(TOOLS)).toBe("^(write_file|purge-cache)$");
    expect(proposeDeny(TOOLS, { paint: plain, columns: 200 })).toMatch(
      /To hide the tools that may destroy something as well:\n {2}--deny '\^\(write_file\|purge-cache\)\$'\n$/,
    );
    expect(proposeDeny(TOOLS.slice(0, 1), { paint: plain, columns: 80 })).toBe("");
  });

  test("matches these names and no others, can be typed into a shell, and is one that --deny takes", () => {
    const names = fc.uniqueArray(fc.string({ unit: "binary", minLength: 1, maxLength: 12 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(names, fc.string({ unit: "binary", maxLength: 12 }), (some, other) => {
        const source = denyPattern(some) ?? "";
        expect(source).toMatch(/^[\w^$()|\\-]+$/);
        const patterns = parsePatternList(source, "deny");
        expect(patterns).toHaveLength(1);
        for (const name of some) expect(patterns[0].expression.test(name)).toBe(true);
        if (!some.includes(other)) expect(patterns[0].expression.test(other)).toBe(false);
      }),
    );
  });

  test("is left out where it would be longer than anybody would paste", () => {
    expect(denyPattern(Array.from({ length: 500 }, (_, index) => `delete_${index}`))).toBeNull();
    expect(denyPattern([])).toBeNull();
  });
});

describe("the list for a terminal", () => {
  test("has a line for each tool, and what it says of itself below", () => {
    expect(list(TOOLS, 80)).toBe(`\
TOOL         HINT                   BYTES  TOKENS
read_file    read-only     shown      129      ~9
  Reads a file. Use it.
write_file   destructive   shown      143      ~9
  Writes a file
deleteAll    destructive?  ^delete     52      ~9
purge-cache  destructive?  shown       54      ~9
`);
  });

  test("goes below each other where the terminal is narrow, and no line is too wide", () => {
    const narrow = list(TOOLS, 30);
    for (const line of narrow.split("\n")) expect(line.length).toBeLessThanOrEqual(30);
    expect(narrow).toContain("read_file\n  read-only, shown, 129 bytes,\n  ~9 tokens\n  Reads a file. Use it.\n");
  });

  test("keeps what a server writes from driving the terminal or leaving its line", () => {
    const nasty = '\u001B[2J\u009B31m\u202Eevil\u2028\r\n{"x":1}\u{E0041}';
    for (const columns of [20, 120]) {
      const text = list([tool(nasty, { description: `${nasty} ${"long ".repeat(100)}` })], columns);
      expect(text).not.toMatch(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/u);
      expect(text).toContain(String.raw`\u001b[2J`);
    }
    expect(list([tool("x", { description: "é".repeat(1000) })], 400).split("\n")[2].length).toBeLessThan(170);
  });

  test("has colours where they are wanted, and the same text without them", () => {
    const colored = list(TOOLS, 80, createPaint({ isTTY: true }, {}));
    expect(colored).toContain("\u001B[31mdestructive\u001B[0m");
    expect(stripVTControlCharacters(colored)).toBe(list(TOOLS, 80));
  });
});
