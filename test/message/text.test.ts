import * as fc from "fast-check";
import { expect, test } from "vitest";
import { composeError, composeRequest, composeResult } from "../../src/message/compose.ts";
import { readId } from "../../src/message/id.ts";
import { readText, showText } from "../../src/message/text.ts";

test("the text of a string is what JSON.parse reads, wherever it stands", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.boolean(), (text, escaped) => {
      const json = JSON.stringify(text);
      const spelled = escaped ? json.replaceAll("a", "\\u0061").replaceAll("/", "\\/") : json;
      const bytes = Buffer.from(`[${spelled}]`);
      expect(readText(bytes, 2, bytes.length - 2)).toBe(JSON.parse(Buffer.from(spelled).toString("utf8")));
    }),
  );
});

test.each([
  ["plain text", "a b~!", "a b~!"],
  ["text of other peoples", "é天気😀", "é天気😀"],
  ["a newline", "a\nb", "a\\u000ab"],
  ["a terminal escape", "\u001b[31m", "\\u001b[31m"],
  ["C1", "\u009b31m", "\\u009b31m"],
  ["DEL", "\u007f", "\\u007f"],
  ["a right-to-left override", "\u202e", "\\u202e"],
  ["zero width", "a\u200bb\u2060c\ufeff", "a\\u200bb\\u2060c\\ufeff"],
  ["line and paragraph separators", "\u2028\u2029", "\\u2028\\u2029"],
  ["tag characters", "\u{e0041}", "\\u{e0041}"],
  ["variation selectors", "a\ufe0f\u{e0100}", "a\\ufe0f\\u{e0100}"],
  ["fillers", "a\u3164\u115f\uffa0b", "a\\u3164\\u115f\\uffa0b"],
  ["the grapheme joiner", "a\u034fb", "a\\u034fb"],
  ["half a surrogate pair", "a\ud800", "a\\ud800"],
])("%s is shown so that it stays on its line and in sight", (_what, text, shown) => {
  expect(showText(text)).toBe(shown);
});

test("long text is cut, and what is cut in two is not shown as half a character", () => {
  expect(showText("x".repeat(300), 256)).toBe(`${"x".repeat(256)}…`);
  expect(showText(`${"x".repeat(255)}😀`, 256)).toBe(`${"x".repeat(255)}\\ud83d…`);
});

test.each(["7", "-7", '"a"', '"\\u0061"', '"é"', '"\\""'])("an answer has the id as it was spelled: %s", (spelled) => {
  const bytes = Buffer.from(spelled);
  const id = readId(bytes, 0, bytes.length);
  if (id === undefined) throw new Error(`${spelled} is an id`);
  expect(composeError(id, { code: 1, message: 'a"b' }).toString("utf8")).toBe(
    `{"jsonrpc":"2.0","id":${spelled},"error":{"code":1,"message":"a\\"b"}}`,
  );
  expect(composeResult(id, Buffer.from('{"é":1.0}')).toString("utf8")).toBe(
    `{"jsonrpc":"2.0","id":${spelled},"result":{"é":1.0}}`,
  );
});

test("an answer to nobody in particular has no id, and one with data has its data", () => {
  expect(composeError(null, { code: 1, message: "m", data: { rule: "r" } }).toString()).toBe(
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m","data":{"rule":"r"}}}',
  );
  expect(composeRequest("own", "tools/list", '{"cursor":"é"}').toString()).toBe(
    '{"jsonrpc":"2.0","id":"own","method":"tools/list","params":{"cursor":"é"}}',
  );
});
