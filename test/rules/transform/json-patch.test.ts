import { describe, expect, test } from "vitest";
import { applyPatch } from "../../../src/rules/transform/json-patch.ts";
import { splice } from "../../../src/message/edit.ts";
import { whole } from "../../../src/message/message.ts";
import { readPatch, readPointer } from "../../../src/rules/transform/json-patch-setting.ts";
import type { Json } from "../../../src/message/json.ts";

function patched(text: string, ...operations: readonly Json[]): string {
  const read = readPatch(operations);
  if ("problem" in read) return `bad: ${read.problem}`;
  const value = whole(Buffer.from(`<${text}>`));
  const change = applyPatch(value.bytes, { start: 1, end: value.end - 1 }, read);
  return "problem" in change ? `cannot: ${change.problem}` : splice(value, change.edits).toString("utf8").slice(1, -1);
}

describe("a patch is applied, and the rest keeps its bytes", () => {
  // The examples of RFC 6902, appendix A, and what they leave open.
  test.each([
    ['{ "foo": "bar"}', [{ op: "add", path: "/baz", value: "qux" }], '{ "foo": "bar","baz":"qux"}'],
    ['{"foo": ["bar", "baz"]}', [{ op: "add", path: "/foo/1", value: "qux" }], '{"foo": ["bar", "qux","baz"]}'],
    ['{"foo":[]}', [{ op: "add", path: "/foo/0", value: 1 }], '{"foo":[1]}'],
    ['{"foo":[1]}', [{ op: "add", path: "/foo/1", value: 2 }], '{"foo":[1,2]}'],
    ['{"foo":[1]}', [{ op: "add", path: "/foo/-", value: ["a"] }], '{"foo":[1,["a"]]}'],
    ['{"baz":"qux", "foo":"bar"}', [{ op: "remove", path: "/baz" }], '{"foo":"bar"}'],
    ['{"foo":[1, 2, 3]}', [{ op: "remove", path: "/foo/1" }], '{"foo":[1, 3]}'],
    ['{"a":1e400,"b":2}', [{ op: "replace", path: "/b", value: 3 }], '{"a":1e400,"b":3}'],
    ['{"foo":{"x":1.50},"q":{}}', [{ op: "move", from: "/foo/x", path: "/q/y" }], '{"foo":{},"q":{"y":1.50}}'],
    ['{"foo":["a","b","c","d"]}', [{ op: "move", from: "/foo/1", path: "/foo/3" }], '{"foo":["a","c","d","b"]}'],
    ['{"a":[ 1 , 2 ]}', [{ op: "copy", from: "/a", path: "/b" }], '{"a":[ 1 , 2 ],"b":[ 1 , 2 ]}'],
    ['{"a":1,"b":2}', [{ op: "move", from: "/a", path: "/a" }], '{"a":1,"b":2}'],
    ['{"a":1.0}', [{ op: "test", path: "/a", value: 1 }], '{"a":1.0}'],
    [
      '{"~1":10,"a/b":1}',
      [
        { op: "test", path: "/~01", value: 10 },
        { op: "remove", path: "/a~1b" },
      ],
      '{"~1":10}',
    ],
    ['{"0":1}', [{ op: "replace", path: "/0", value: 2 }], '{"0":2}'],
    ['{"":1}', [{ op: "replace", path: "/", value: 2 }], '{"":2}'],
    ["{}", [{ op: "add", path: "", value: [1] }], "[1]"],
    ["{}", [{ op: "add", path: "/n", value: 2n ** 64n }], '{"n":18446744073709551616}'],
    [
      '{"a":1}',
      [
        { op: "add", path: "/b", value: 1 },
        { op: "remove", path: "/b" },
      ],
      '{"a":1}',
    ],
  ] as const)("%s %#", (text, operations, wanted) => {
    expect(patched(text, ...operations)).toBe(wanted);
  });
});

describe("what cannot be applied is not applied at all", () => {
  test.each([
    ["{}", { op: "remove", path: "/a" }, "cannot: operation 1, remove: there is no such value"],
    ["{}", { op: "replace", path: "/a", value: 1 }, "cannot: operation 1, replace: there is no such value"],
    ["{}", { op: "add", path: "/a/b", value: 1 }, "cannot: operation 1, add: there is nothing to add it to"],
    ['{"a":"x"}', { op: "add", path: "/a/b", value: 1 }, "cannot: operation 1, add: there is nothing to add it to"],
    ['{"a":[]}', { op: "add", path: "/a/1", value: 1 }, "cannot: operation 1, add: the array is too short"],
    ['{"a":[]}', { op: "add", path: "/a/x", value: 1 }, "cannot: operation 1, add: there is nothing to add it to"],
    ['{"a":[]}', { op: "add", path: "/a/01", value: 1 }, "cannot: operation 1, add: there is nothing to add it to"],
    ['{"a":"x"}', { op: "add", path: "/a/-", value: 1 }, "cannot: operation 1, add: /a is not an object"],
    ["{}", { op: "copy", from: "/a", path: "/b" }, "cannot: operation 1, copy: there is no such value"],
    [
      '{"a":9007199254740993}',
      { op: "test", path: "/a", value: 9007199254740992n },
      "cannot: operation 1, test: the value is another one",
    ],
    ['{"a":"1"}', { op: "test", path: "/a", value: 1 }, "cannot: operation 1, test: the value is another one"],
  ] as const)("%s %#", (text, operation, wanted) => {
    expect(patched(text, operation)).toBe(wanted);
  });
});

test("a patch that is none is told by its operation", () => {
  const bad: [Json, string][] = [
    [7, "it is not an object"],
    [{ op: "add", path: "a", value: 1 }, "its path is not a JSON Pointer"],
    [{ op: "add", path: "/~2", value: 1 }, "its path is not a JSON Pointer"],
    [{ op: "add", path: "/__proto__/x", value: 1 }, "its path is not a JSON Pointer"],
    [{ op: "add", path: "/a" }, "add needs a value"],
    [{ op: "move", path: "/a" }, "move needs a JSON Pointer in from"],
    [{ op: "move", from: "/a", path: "/a/b" }, "nothing can be moved into itself"],
    [{ op: "remove", path: "" }, "the whole of it cannot be removed"],
    [{ op: "increase", path: "/a" }, "its op is not add, remove, replace, move, copy or test"],
    [{ path: "/a" }, "its op is not add, remove, replace, move, copy or test"],
  ];
  for (const [operation, why] of bad) {
    expect(patched("{}", { op: "test", path: "", value: {} }, operation)).toBe(`bad: operation 2: ${why}`);
  }
});

test("a pointer is taken apart", () => {
  expect(readPointer("/a~1b/m~0n/0/01/-/99999999999")).toEqual(["a/b", "m~n", 0, "01", "-", "99999999999"]);
  expect(readPointer("a")).toBeNull();
});
