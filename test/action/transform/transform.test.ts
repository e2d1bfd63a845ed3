import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createModuleTransform, type TransformFunction } from "../../../src/action/transform/module.ts";
import { createTransform } from "../../../src/action/transform/transform.ts";
import { splice } from "../../../src/message/edit.ts";
import { openMessage, whole } from "../../../src/message/message.ts";
import type { TransformSetting } from "../../../src/policy/rules/rule.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-transform-"));
afterAll(() => rmSync(folder, { recursive: true }));
const ABOUT = { direction: "up", method: "tools/call" } as const;

async function transformed(setting: TransformSetting, text: string): Promise<string> {
  const transform = await createTransform(setting, { folder, timeoutMs: 200 });
  const message = openMessage(whole(Buffer.from(text)), "up", "allow");
  const change = await transform(message, ABOUT);
  return "problem" in change ? `cannot: ${change.problem}` : splice(message, change.edits).toString("utf8");
}

const call = (params: string): string =>
  `{"jsonrpc":"2.0","id":"a@x.example","method":"tools/call","params":${params}}`;
const answer = (result: string): string => `{"result":${result},"jsonrpc":"2.0","id":7}`;
const REDACT: TransformSetting = { kind: "redact", kinds: ["email"], patterns: [], by: "***" };
const field = (...steps: (string | number)[]) => ({ text: steps.join("."), steps });

const patch = (path: string, value: string | object): TransformSetting => ({
  kind: "json_patch",
  operations: [{ op: "add", path, value: value as string }],
});

/** A module with this code in it. */
const load = (code: string, name = "transform"): TransformSetting => {
  const file = `${Math.random().toString(36).slice(2)}.mjs`;
  writeFileSync(join(folder, file), code);
  return { kind: "module", module: file, export: name, options: { by: "X" } };
};

describe("a transform changes the body and never what is around it", () => {
  test("of requests, answers and errors", async () => {
    expect(await transformed(REDACT, call('{"name":"x","arguments":{"to":"a@x.example"}}'))).toBe(
      call('{"name":"x","arguments":{"to":"***"}}'),
    );
    expect(await transformed(REDACT, answer('["a@x.example"]'))).toBe(answer('["***"]'));
    expect(await transformed(REDACT, '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a@x.example"}}')).toBe(
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"***"}}',
    );
    expect(await transformed(REDACT, '{"jsonrpc":"2.0","method":"ping"}')).toBe('{"jsonrpc":"2.0","method":"ping"}');
  });

  test("all texts, or those under a field", async () => {
    const text = answer('{"content":[{"type":"text","text":"abcdef"}],"other":"abcdef"}');
    const cut = "ab… [4 more characters]";
    expect(await transformed({ kind: "truncate", maxCharacters: 2, field: null }, text)).toBe(
      text.replaceAll("abcdef", cut),
    );
    expect(await transformed({ kind: "truncate", maxCharacters: 2, field: field("content", 0, "text") }, text)).toBe(
      text.replace("abcdef", cut),
    );
    expect(await transformed({ kind: "strip_control", field: field("nowhere") }, text)).toBe(text);
  });

  test("a patch may not make something else of the params", async () => {
    expect(await transformed(patch("/a", "b"), call("{}"))).toBe(call('{"a":"b"}'));
    expect(await transformed(patch("", "b"), call("{}"))).toBe("cannot: params have to be an object");
    expect(await transformed(patch("", "b"), answer("{}"))).toBe(answer('"b"'));
    expect(await transformed(patch("/a", "b"), '{"jsonrpc":"2.0","method":"ping"}')).toBe("cannot: it has no body");
    await expect(transformed({ kind: "json_patch", operations: [1] }, call("{}"))).rejects.toThrow("operation 1");
  });
});

describe("a module", () => {
  test("gets a copy, its options and what it is about, and returns what is to be", async () => {
    const setting = load(
      "export function transform(value, { by }, about) { value.arguments.a = by + about.method; return value; }",
    );
    expect(await transformed(setting, call('{ "arguments" : { "a" : 1, "big": 9007199254740993 } }'))).toBe(
      call('{ "arguments" : { "a" : "Xtools/call", "big": 9007199254740993 } }'),
    );
  });

  test("may be asynchronous, and may leave a message as it is", async () => {
    const setting = load("export const transform = async (value) => { value.a = 1; };");
    expect(await transformed(setting, call('{ "a":0}'))).toBe(call('{ "a":0}'));
  });

  test("is loaded once", async () => {
    const setting = load("let count = 0; export const transform = () => ({ count: ++count });");
    expect(await transformed(setting, call("{}"))).toBe(call('{"count":1}'));
    expect(await transformed(setting, call("{}"))).toBe(call('{"count":2}'));
  });

  test("that cannot be loaded is an error at the start", async () => {
    await expect(transformed(load("export const other = 1;"), call("{}"))).rejects.toThrow(
      /exports no function transform/,
    );
    await expect(transformed(load("throw new Error('no');"), call("{}"))).rejects.toThrow(/cannot be loaded: no/);
    await expect(transformed(load("x", "toString"), call("{}"))).rejects.toThrow();
    const missing: TransformSetting = { kind: "module", module: "./none.mjs", export: "x", options: null };
    await expect(transformed(missing, call("{}"))).rejects.toThrow(/none\.mjs cannot be loaded/);
  });

  const cases: [string, TransformFunction, string][] = [
    [
      "throws",
      () => {
        throw new Error("no");
      },
      "the transform failed: no",
    ],
    [
      "throws what cannot be looked at",
      () => {
        throw {
          toString() {
            throw new Error("x");
          },
        };
      },
      "the transform failed: without a reason",
    ],
    ["rejects", () => Promise.reject(new Error("later no")), "the transform failed: later no"],
    ["never answers", () => new Promise(() => {}), "the transform took longer than 200 ms"],
    ["returns no JSON", () => () => 1, "the transform returned what is not JSON"],
    [
      "returns something without end",
      () => {
        const loop: unknown[] = [];
        loop.push(loop);
        return loop;
      },
      "the transform returned what is not JSON",
    ],
    [
      "returns a getter that throws",
      () => ({
        get a() {
          throw new Error("got");
        },
      }),
      "the transform failed: got",
    ],
    [
      "has a then that throws",
      () => ({
        // oxlint-disable-next-line no-thenable -- that is the point
        get then() {
          throw new Error("then");
        },
      }),
      "the transform failed: then",
    ],
  ];
  test.each(cases)("that %s is a problem, and nothing else", async (_, transform, why) => {
    const bytes = Buffer.from('{"a":1}');
    const module = createModuleTransform(transform, null, 200);
    expect(await module.run(bytes, { start: 0, end: bytes.length }, ABOUT)).toEqual({ problem: why });
  });

  test("cannot spoil its options for the next message", async () => {
    const module = createModuleTransform(
      (_, options) => {
        const list = (options as { list: number[] }).list;
        list.push(list.length);
        return list;
      },
      { list: [] },
      200,
    );
    const bytes = Buffer.from("[]");
    const one = await module.run(bytes, { start: 0, end: 2 }, ABOUT);
    expect(await module.run(bytes, { start: 0, end: 2 }, ABOUT)).toEqual(one);
  });
});

test("a secret is known by the name of its member", async () => {
  const said =
    '{"password":"letmein","api_key":"aB3dE5gH7jaB3d","DB_PASSWORD":"x-y-z","token":"word","passwords":"letmein"}';
  const redact: TransformSetting = { kind: "redact", kinds: ["secrets"], patterns: [], by: "[{kind}]" };
  const left =
    '{"password":"[password]","api_key":"[api_key]","DB_PASSWORD":"[password]","token":"word","passwords":"letmein"}';
  expect(await transformed(redact, call(said))).toBe(call(left));
  const schema = '{"password":"string","pwd":"********"}';
  expect(await transformed(redact, call(schema))).toBe(call(schema));
});

test("what a pattern that cannot be run on a text says is not swallowed", async () => {
  const pattern = {
    source: "x",
    test(): boolean {
      throw new Error("a text of more than 7 characters");
    },
  };
  const redact: TransformSetting = { kind: "redact", kinds: [], patterns: [pattern], by: "*" };
  await expect(transformed(redact, call('{"a":"b"}'))).rejects.toThrow("a text of more than 7 characters");
});
