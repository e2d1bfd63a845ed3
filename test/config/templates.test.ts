import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFlaw } from "../../src/config/mistake.ts";
import { parseTemplate } from "../../src/config/templates.ts";

const parts = (text: string): unknown => {
  const found = parseTemplate(text);
  return isFlaw(found) ? `${found.at}+${found.length}: ${found.message}` : found.parts;
};

describe("a template", () => {
  test.each([
    ["plain", ["plain"]],
    ["${tool}", [{ name: "tool" }]],
    ["${session_id}:${method}", [{ name: "session_id" }, ":", { name: "method" }]],
    ["a $ b {c} $d", ["a $ b {c} $d"]],
    ["cost: $${tool}", ["cost: ${tool}"]],
    [
      "${param.arguments.path}!",
      [{ name: "param", field: { text: "arguments.path", steps: ["arguments", "path"] } }, "!"],
    ],
    ["${param./a/0}", [{ name: "param", field: { text: "/a/0", steps: ["a", 0] } }]],
    ['${param.a["}"]}', [{ name: "param", field: { text: 'a["}"]', steps: ["a", "}"] } }]],
    ["x ${toll} y", "2+7: Unknown variable: ${toll}"],
    ["x ${ y", "2+4: A variable does not end"],
    ["${}", "0+3: Unknown variable: ${}"],
    ["${param.}", "8+9: A field is empty"],
    ["a ${param.x.__proto__}", "12+9: __proto__ cannot be part of a field"],
  ])("%s", (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });
});

test("all that is not a variable is kept", () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes("${")),
      (text) => {
        expect(parts(text)).toEqual(text === "" ? [] : [text]);
      },
    ),
  );
});
