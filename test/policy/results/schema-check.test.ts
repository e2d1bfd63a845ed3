import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkSchema } from "../../../src/policy/results/schema-check.ts";
import { MAX_STEPS } from "../../../src/policy/results/schema-values.ts";
import type { Json } from "../../../src/message/json.ts";
import { runs } from "../../support/runs.ts";

const fit = (schema: Json, value: Json): string => checkSchema(schema, value).fit;

describe("what fits, and what does not", () => {
  test.each<[schema: Json, good: Json[], bad: Json[]]>([
    [true, [1, null, {}], []],
    [false, [], [1, null]],
    [{}, [1, "x"], []],
    [{ type: "string" }, ["", "x"], [1, null, {}, []]],
    [{ type: "integer" }, [1, 1.0, -3], [1.5, "1"]],
    [{ type: ["string", "null"] }, ["x", null], [1, {}]],
    [{ type: "object" }, [{}], [[], null]],
    [{ const: { a: [1, 2], b: null } }, [{ b: null, a: [1, 2] }], [{ a: [2, 1], b: null }, 1]],
    [{ enum: [1, "x", null, [1]] }, [1, "x", null, [1]], [2, "y", [2]]],
    [{ minimum: 1, maximum: 3 }, [1, 3, "x"], [0, 4]],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2], [1, 3]],
    [{ multipleOf: 3 }, [9, 0, "x"], [10]],
    [{ minLength: 2, maxLength: 3 }, ["ab", "😀😀", 5], ["a", "abcd", "😀"]],
    [{ minItems: 1, maxItems: 2 }, [[1], [1, 2], "x"], [[], [1, 2, 3]]],
    [
      { uniqueItems: true },
      [[1, 2, { a: 1 }], []],
      [
        [1, 1],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 2 }]],
    [{ required: ["a"] }, [{ a: 1 }, 5], [{}, { b: 1 }]],
    [{ dependentRequired: { a: ["b"] } }, [{}, { a: 1, b: 1 }], [{ a: 1 }]],
    [{ properties: { a: { type: "string" } } }, [{ a: "x" }, {}, { b: 1 }], [{ a: 1 }]],
    [{ properties: { a: true }, additionalProperties: false }, [{ a: 1 }, {}], [{ b: 1 }]],
    [{ additionalProperties: { type: "string" } }, [{ a: "x" }], [{ a: 1 }]],
    [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
    [{ items: { type: "string" } }, [["a"], []], [["a", 1]]],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, [["a", 1, 2], ["a"]], [[1], ["a", "b"]]],
    [{ items: [{ type: "string" }], additionalItems: false }, [["a"], []], [["a", 1], [1]]],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
    [{ anyOf: [{ type: "string" }, { minimum: 5 }] }, ["x", 5], [4]],
    [{ oneOf: [{ minimum: 3 }, { maximum: 5 }] }, [1, 9], [4]],
    [{ not: { type: "string" } }, [1], ["x"]],
    [{ if: { type: "string" }, else: { minimum: 3 } }, ["x", 3], [2]],
    [{ $ref: "#/$defs/text", $defs: { text: { type: "string" } } }, ["x"], [1]],
    [{ $defs: { "a/b~c": { type: "string" } }, $ref: "#/$defs/a~1b~0c" }, ["x"], [1]],
    [{ properties: { next: { $ref: "#" } }, required: ["n"] }, [{ n: 1, next: { n: 2 } }], [{ n: 1, next: {} }]],
    [{ title: 5, "x-own": false, format: "date", default: 1, $schema: "x" }, [1, "x"], []],
  ])("%j", (schema, good, bad) => {
    for (const value of good) expect([value, fit(schema, value)]).toEqual([value, "yes"]);
    for (const value of bad) expect([value, fit(schema, value)]).toEqual([value, "no"]);
  });
});

describe("what cannot be checked is said, and is not taken for wrong", () => {
  test.each<[schema: Json, value: Json, keywords: string[]]>([
    [{ pattern: "^a" }, "b", ["pattern"]],
    [{ not: { pattern: "^a" } }, "b", ["pattern"]],
    [{ oneOf: [{ pattern: "^a" }, { type: "string" }] }, "b", ["pattern"]],
    [{ anyOf: [{ pattern: "^a" }, { type: "number" }] }, "b", ["pattern"]],
    [{ if: { pattern: "^a" }, else: false }, "b", ["pattern"]],
    [{ patternProperties: { "^a": {} }, additionalProperties: false }, { b: 1 }, ["patternProperties"]],
    [{ $ref: "https://elsewhere.example/schema" }, 1, ["$ref"]],
    [{ $ref: "#/nowhere" }, 1, ["$ref"]],
    [{ contains: { type: "string" } }, [1], ["contains"]],
    [{ type: "text" }, 1, ["type"]],
    [{ type: 5 }, 1, ["type"]],
    [{ minimum: 1, exclusiveMinimum: true }, 1, ["exclusiveMinimum"]],
    [{ multipleOf: 0.1 }, 0.3, ["multipleOf"]],
    [{ unevaluatedProperties: false }, { a: 1 }, ["unevaluatedProperties"]],
    [{ properties: 5 }, { a: 1 }, ["properties"]],
    ["no schema", 1, ["a schema that is not an object"]],
  ])("%j", (schema, value, keywords) => {
    expect(checkSchema(schema, value)).toEqual({ fit: "unsure", misfit: null, unchecked: keywords });
  });

  test("beside it, what is wrong is wrong all the same", () => {
    expect(fit({ pattern: "^a", type: "string" }, 1)).toBe("no");
    expect(fit({ anyOf: [{ pattern: "^a" }, { type: "string" }] }, "b")).toBe("yes");
  });
});

describe("the work has an end", () => {
  test.each<[string, Json, Json]>([
    ["a reference to itself", { $ref: "#" }, 1],
    ["references in a circle", { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }, 1],
    [
      "branches that double with every level",
      {
        $ref: "#/$defs/d0",
        $defs: Object.fromEntries(
          Array.from({ length: 60 }, (_, nth) => [
            `d${nth}`,
            { allOf: [{ $ref: `#/$defs/d${nth + 1}` }, { $ref: `#/$defs/d${nth + 1}` }] },
          ]).concat([["d60", {} as never]]),
        ),
      },
      1,
    ],
    ["a great many items", { items: { anyOf: [{ const: 1 }, { const: 2 }] } }, Array(MAX_STEPS).fill(2)],
    ["a long text to be measured", { items: { minLength: 1 } }, Array(3000).fill("x".repeat(100_000))],
  ])("%s", (_, schema, value) => {
    const before = performance.now();
    expect(checkSchema(schema, value)).toEqual({ fit: "unsure", misfit: null, unchecked: ["too much to check"] });
    expect(performance.now() - before).toBeLessThan(3000);
  });
});

test("what is wrong is said with its place, and without the value", () => {
  const schema = { properties: { a: { items: { required: ["b"], properties: { b: { type: "string" } } } } } };
  expect(checkSchema(schema, { a: [{ b: "x" }, { b: 5 }] }).misfit).toBe("a[1].b is not text");
  expect(checkSchema(schema, { a: [{}] }).misfit).toBe("a[0].b is missing");
  expect(checkSchema({ additionalProperties: false }, { "\u001b[31m": "secret" }).misfit).toBe(
    "\\u001b[31m is not allowed",
  );
  expect(checkSchema({ anyOf: [{ type: "string" }, { type: "null" }] }, 1).misfit).toBe(
    "it fits none of the kinds that are allowed",
  );
});

test("where it is sure, another validator says the same", () => {
  const leaf = fc.constantFrom<Json>(
    true,
    false,
    {},
    { type: "string" },
    { type: ["integer", "null"] },
    { const: 1 },
    { enum: ["a", 2] },
    { minimum: 1 },
    { maxLength: 1 },
    { required: ["a"] },
    { minItems: 1 },
    { pattern: "^a" },
  );
  const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.record({ properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema")) }),
      fc.record({ properties: fc.record({ a: tie("schema") }), additionalProperties: tie("schema") }),
      fc.record({ items: tie("schema") }),
      fc.record({ prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }), items: tie("schema") }),
      fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie("schema") }),
      fc.record({ if: tie("schema"), else: tie("schema") }),
      fc.record({ uniqueItems: fc.constant(true), type: fc.constant("array") }),
    ),
  }));
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<Json>(null, true, 0, 1, 2, 1.5, "", "a", "ab"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3 }),
    ),
  }));
  let sure = 0;
  fc.assert(
    fc.property(schema, value, (one, other) => {
      const { fit: found } = checkSchema(one, other);
      if (found === "unsure") return;
      sure++;
      const { valid } = new Validator(one as object, "2020-12").validate(other);
      expect(valid).toBe(found === "yes");
    }),
    { numRuns: runs(5000) },
  );
  expect(sure).toBeGreaterThan(runs(2000));
});
