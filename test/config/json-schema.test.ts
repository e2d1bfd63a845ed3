import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Schema, Validator } from "@cfworker/json-schema";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { composeJsonSchema } from "../../src/config/json-schema.ts";
import { read, withRule } from "./reading.ts";

const root = resolve(import.meta.dirname, "../..");
const shipped = JSON.parse(readFileSync(join(root, "schema", "fairlead.schema.json"), "utf8")) as Schema;
const validator = new Validator(shipped, "2020-12", false);
const isValid = (text: string): boolean => validator.validate(load(text)).valid;

test("the schema that is shipped is the one that the tables make (if not: npm run schema)", () => {
  expect(shipped).toEqual(JSON.parse(JSON.stringify(composeJsonSchema())));
});

test("editors are told by a comment where it is", () => {
  const page = readFileSync(join(root, "docs/policy.md"), "utf8");
  expect(page).toContain("\n# yaml-language-server: $schema=./fairlead.schema.json\n");
  const text = "# yaml-language-server: $schema=./schema/fairlead.schema.json\ntools: { deny: [a] }\n";
  const [, path] = /^# yaml-language-server: \$schema=(\S+)$/m.exec(text)!;
  expect(existsSync(join(root, path))).toBe(true);
  expect([read(text).mistakes, isValid(text)]).toEqual([[], true]);
});

test("the specification's configuration is valid", () => {
  const printed = load(readFileSync(join(import.meta.dirname, "printed.txt"), "utf8"));
  expect(validator.validate(printed).errors).toEqual([]);
});

test("every key has a title and a description", () => {
  const bare: string[] = [];
  const visit = (schema: unknown, path: string): void => {
    if (typeof schema !== "object" || schema === null) return;
    for (const [name, value] of Object.entries(schema)) {
      if (name === "properties" && path.endsWith("json_patch/items")) continue;
      if (name === "properties" && !/anyOf\/\d+$/.test(path)) {
        for (const [key, each] of Object.entries(value as Record<string, { title?: string; description?: string }>)) {
          if (each.title === undefined || each.description === undefined) bare.push(`${path}/${key}`);
        }
      }
      if (name !== "default" && name !== "examples") visit(value, `${path}/${name}`);
    }
  };
  visit(shipped, "");
  expect(bare).toEqual([]);
});

describe("what the reader refuses by its shape, the schema refuses", () => {
  test.each([
    ["tols: {}"],
    ["version: 2"],
    ["timeouts: { connection: 5 }"],
    ["timeouts: { connection: soon }"],
    ["limits: { max_message: 10XB }"],
    ["listen: 70000"],
    ["listen: a:b"],
    ["tools: { hide: strickt }"],
    ["tools: { deny: a }"],
    ["audit: {}"],
    [withRule("[{ method_equal: a }]")],
    [withRule("[{ method_equals: a, param_exists: b }]")],
    [withRule("[{ all: [{ not: { bad: 1 } }] }]")],
    [withRule("[]", "[]")],
    [withRule("[]", "[alow]")],
    [withRule("[]", "[{ rate_limit: { key: a, limit: 0, window: 1s } }]")],
    ["interceptor: { method_interceptors: { tools/call: { class: Nobody } } }"],
  ])("%s", (text) => {
    expect([read(text).policy, isValid(text)]).toEqual([null, false]);
  });
});

describe("and what it takes, the schema takes", () => {
  test.each([
    ["listen: 8808"],
    ["state: memory"],
    ["limits: { max_message: 1.5MB, max_parked: 100 }"],
    ["interceptor: { method_interceptors: { tools/call: { module: ./a.js, class: Mine, config: { a: 1 } } } }"],
    [withRule("[{ any: [{ not: { all: [{ cel: x }] } }] }]", "[allow]")],
    [
      withRule(
        "[]",
        "[{ allow: }, { transform: redact }, { transform: { truncate: 5 } }, { transform: { module: a } }]",
      ),
    ],
    [withRule("[]", "[{ block: { reason: a, code: 5 } }]", "      enabled: observe\n")],
  ])("%s", (text) => {
    expect([read(text).mistakes, validator.validate(load(text)).errors]).toEqual([[], []]);
  });
});
