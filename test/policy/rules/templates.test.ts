import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalize, hashParams } from "../../../src/policy/rules/canonical.ts";
import type { Template, TemplateVariable } from "../../../src/policy/rules/rule.ts";
import { fillKey, fillText, MAX_KEY_CHARACTERS } from "../../../src/policy/rules/templates.ts";
import { field, lookAt, part } from "./support.ts";

function template(...parts: (string | TemplateVariable)[]): Template {
  return { text: "", parts };
}

function canonical(text: string): string {
  const whole = part(text);
  return canonicalize(whole.bytes, whole).toString();
}

function hash(text: string): string {
  const whole = part(text);
  return hashParams(whole.bytes, whole);
}

test("the canonical form is that of RFC 8785", () => {
  // The example of its appendix B for strings and order; numbers as in 3.2.2.
  expect(
    canonical(
      '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}',
    ),
  ).toBe(
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  );
  expect(canonical('[ true , null,{ "b" : [ ] , "a" : "\\u000f\\/\\u0041" } ]')).toBe(
    '[true,null,{"a":"\\u000f/A","b":[]}]',
  );
});

test("how a value is written does not change its canonical form", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: fc.constantFrom("é", "a", "\n", "😀", "/") }), (value) => {
      const text = canonical(JSON.stringify(value, null, "\t"));
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonical(text)).toBe(text);
      expect(canonical(JSON.stringify(value).replaceAll("é", "\\u00e9"))).toBe(text);
    }),
  );
});

test("numbers that some servers tell apart are not merged", () => {
  const texts = ["1", "1.0", "1e400", "null", "9007199254740993", "9007199254740992", '"1"'];
  expect(new Set(texts.map((text) => hash(`{"a":${text}}`))).size).toBe(texts.length);
});

test("the hash of params is that of what they ask, in any order, without _meta", () => {
  const wanted = createHash("sha256").update('{"a":1,"b":{"_meta":2}}').digest("hex");
  expect(hash('{"a":1,"b":{"_meta":2}}')).toBe(wanted);
  expect(hash('{ "b":{"_meta":2}, "_meta":{"progressToken":7}, "a":1 }')).toBe(wanted);
  expect(hashParams(Buffer.alloc(0), null)).toBe(hash('{"_meta":{}}'));
});

test("a text for people has the values in it, cut and harmless", () => {
  const all: TemplateVariable[] = [
    { name: "session_id" },
    { name: "method" },
    { name: "tool" },
    { name: "client" },
    { name: "identity" },
    { name: "direction" },
    { name: "param", field: field("arguments", "path") },
    { name: "param", field: field("arguments") },
    { name: "param", field: field("missing") },
  ];
  expect(fillText(template("<", ...all.flatMap((one) => [one, ","]), ">"), lookAt({ client: "a\n\u001b[2J" }))).toBe(
    '<s1,tools/call,read_file,a\\u000a\\u001b[2J,,up,/data/a,{"path":"/data/a"},,>',
  );
  const long = lookAt({ client: "x".repeat(10_000) });
  expect(fillText(template({ name: "client" }), long).length).toBeLessThan(250);
});

test("no two values make the same key, wherever they stand", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
      const key = template({ name: "client" }, ":", { name: "identity" });
      const one = fillKey(key, lookAt({ client: a, identity: b }), "exact");
      const other = fillKey(key, lookAt({ client: c, identity: d }), "exact");
      expect(one === other).toBe(a === c && b === d);
    }),
  );
  const key = template({ name: "identity" });
  expect(fillKey(key, lookAt({ identity: null }), "exact")).not.toBe(fillKey(key, lookAt({ identity: "" }), "exact"));
  expect(fillKey(key, lookAt({ identity: "-" }), "exact")).not.toBe(fillKey(key, lookAt({ identity: null }), "exact"));
});

test("a limit is the same for names that a careless server takes for the same, a cache is not", () => {
  const key = template({ name: "tool" });
  const fill = (tool: string, names: "exact" | "alike") => fillKey(key, lookAt({ tool }), names);
  expect(fill("Safe_Tool", "alike")).toBe(fill("safe_tool", "alike"));
  expect(fill("s\u200bafe_tool", "alike")).toBe(fill("safe_tool", "alike"));
  expect(fill("Safe_Tool", "exact")).not.toBe(fill("safe_tool", "exact"));
});

test("a long key is a hash", () => {
  const key = template({ name: "client" });
  const one = fillKey(key, lookAt({ client: "x".repeat(10_000) }), "exact");
  expect(one.length).toBeLessThan(MAX_KEY_CHARACTERS);
  expect(one).not.toBe(fillKey(key, lookAt({ client: "x".repeat(10_001) }), "exact"));
});

test("the hash of params stands in a key", () => {
  const key = template({ name: "method" }, ":", { name: "params_hash" });
  const look = lookAt({ params: part('{"b":1,"a":2}') });
  expect(fillKey(key, look, "exact")).toContain(hash('{"a":2,"b":1}'));
  expect(fillKey(key, look, "exact")).toBe(fillKey(key, lookAt({ params: part('{"a":2,"b":1}') }), "exact"));
});
