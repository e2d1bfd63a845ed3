import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Change, removeAt, removeParam, setAt, setParam, setResult, type Steps } from "../../src/action/change.ts";
import { encodeJson } from "../../src/action/encode.ts";
import { type Edit, splice } from "../../src/message/edit.ts";
import type { Span } from "../../src/message/envelope.ts";
import { type Message, openMessage, whole } from "../../src/message/message.ts";
import type { Field } from "../../src/message/field.ts";
import { jsonText } from "../fuzz/json-texts.ts";
import { readJson, type Tree } from "../fuzz/naive-json.ts";
import { createRandom, type Random } from "../fuzz/random.ts";
import { runs } from "../support/runs.ts";

const field = (...steps: (string | number)[]): Field => ({ text: steps.join("."), steps });
const open = (text: string): Message => openMessage(whole(Buffer.from(text)), "up", "allow");

/** The text after a change, or why there is none. */
function after(text: string, change: Change): string {
  if ("problem" in change) return `cannot: ${change.problem}`;
  return splice(whole(Buffer.from(text)), change.edits).toString("utf8");
}

function request(params: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call"${params === "" ? "" : `,"params":${params}`}}`;
}

describe("setting a parameter changes its value, or adds it, and nothing else", () => {
  test.each([
    ['{"name":"x"}', ["name"], "y", '{"name":"y"}'],
    ['{ "name" : "x" , "a" : 1 }', ["name"], "y", '{ "name" : "y" , "a" : 1 }'],
    ['{"n\\u0061me":"x"}', ["name"], "y", '{"n\\u0061me":"y"}'],
    ['{"a":{"b":[1,2]}}', ["a", "b", 1], { c: null }, '{"a":{"b":[1,{"c":null}]}}'],
    ['{"a":{"b":[1,2]}}', ["a", "b", 2], true, '{"a":{"b":[1,2,true]}}'],
    ['{"a":{"b":[1,2]}}', ["a", "b", "-"], true, '{"a":{"b":[1,2,true]}}'],
    ['{"a":[ ]}', ["a", 0], 1, '{"a":[1 ]}'],
    ["{}", ["a"], 1, '{"a":1}'],
    ["{ }", ["a"], 1, '{"a":1 }'],
    ['{"x":1 }', ["a"], 1, '{"x":1,"a":1 }'],
    ['{"x":1}', ["a", "b", "c"], [], '{"x":1,"a":{"b":{"c":[]}}}'],
    ['{"x":1}', ["a", 0, "c"], 2, '{"x":1,"a":[{"c":2}]}'],
    ['{"0":1}', [0], 2, '{"0":2}'],
    ['{"x":1}', ['q"\n'], "é", '{"x":1,"q\\"\\n":"é"}'],
    ['{"big":1}', ["big"], 9007199254740993n, '{"big":9007199254740993}'],
    ['{"keep":1e400,"id":90071992547409931}', ["a"], 1.5, '{"keep":1e400,"id":90071992547409931,"a":1.5}'],
    ['{"a":1}', [], { b: 2 }, '{"b":2}'],
  ] as const)("%s %j = %s", (params, steps, value, wanted) => {
    const text = request(params);
    expect(after(text, setParam(open(text), field(...steps), value))).toBe(request(wanted));
  });

  test.each([
    ["", ["arguments", "a"], '{"arguments":{"a":1}}'],
    ["null", ["arguments", "a"], '{"arguments":{"a":1}}'],
  ] as const)("where there are no params %j", (params, steps, wanted) => {
    const text = request(params);
    expect(after(text, setParam(open(text), field(...steps), 1))).toBe(request(wanted));
  });
});

describe("what cannot be set is said", () => {
  test.each([
    ['{"a":1}', ["a", "b"], 1, "/a is not an object"],
    ['{"a":null}', ["a", "b"], 1, "/a is not an object"],
    ['{"a":[1]}', ["a", 2], 1, "/a has 1 elements and none at 2"],
    ['{"a":[1]}', ["a", "0"], 1, "/a is an array and has no member 0"],
    ["{}", ["a", 1], 1, "there is no array that could have an element 1"],
    ["{}", [], [1], "params have to be an object"],
    ["", [0], 1, "params have to be an object"],
    ["{}", ["a"], Number.NaN, "the value is not JSON"],
  ] as const)("%s %j", (params, steps, value, why) => {
    const text = request(params);
    expect(setParam(open(text), field(...steps), value)).toEqual({ problem: why });
  });

  test("in a message of another kind", () => {
    const result = open('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(setParam(result, field("a"), 1)).toEqual({ problem: "it has no params" });
    expect(removeParam(result, field("a"))).toEqual({ problem: "it has no params" });
    expect(setResult(open(request("{}")), field("a"), 1)).toEqual({ problem: "it has no result" });
    expect(setResult(open("no message"), field("a"), 1)).toEqual({ problem: "it has no result" });
  });
});

describe("a parameter is taken out with one comma", () => {
  test.each([
    ['{"a":1}', ["a"], "{}"],
    ['{"a":1,"b":2}', ["a"], '{"b":2}'],
    ['{"a":1,"b":2}', ["b"], '{"a":1}'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', ["b"], '{ "a" : 1 , "c" : 3 }'],
    ['{"a":{"b":[1,2,3]}}', ["a", "b", 1], '{"a":{"b":[1,3]}}'],
    ['{"a":1}', ["b"], '{"a":1}'],
    ['{"a":1}', ["a", "b"], '{"a":1}'],
    ['{"a":[1]}', ["a", 1], '{"a":[1]}'],
    ["", ["a"], ""],
  ] as const)("%s without %j", (params, steps, wanted) => {
    const text = request(params);
    expect(after(text, removeParam(open(text), field(...steps)))).toBe(request(wanted));
  });

  test("but not all of them at once", () => {
    expect(removeParam(open(request("{}")), field())).toEqual({ problem: "the whole of it cannot be taken out" });
  });
});

test("a result is set like a parameter, whatever it is", () => {
  const text = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}';
  expect(after(text, setResult(open(text), field("content", 0, "text"), "y"))).toBe(text.replace('"x"', '"y"'));
  expect(after(text, setResult(open(text), field(), 7))).toBe('{"jsonrpc":"2.0","id":1,"result":7}');
});

// The plain way, on values. Members are own, whatever they are called.
type Plain = unknown[] | Record<string, unknown>;

function plainSet(value: unknown, steps: Steps, by: unknown): unknown {
  if (steps.length === 0) return by;
  const [step, ...rest] = steps;
  if (value === undefined) {
    if (typeof step === "number") {
      if (step !== 0) throw new Error("no array");
      return [plainSet(undefined, rest, by)];
    }
    value = {};
  }
  if (typeof value !== "object" || value === null) throw new Error("no object");
  const inside = value as Plain;
  if (Array.isArray(inside)) {
    if (typeof step !== "number" || step > inside.length) throw new Error("no index");
    inside[step] = plainSet(step < inside.length ? inside[step] : undefined, rest, by);
  } else {
    const key = String(step);
    const before = Object.hasOwn(inside, key) ? inside[key] : undefined;
    Object.defineProperty(inside, key, {
      value: plainSet(before, rest, by),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return inside;
}

function plainRemove(value: unknown, steps: Steps): void {
  const [step, ...rest] = steps;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return;
  if (Array.isArray(value) && typeof step !== "number") return;
  const inside = value as Record<string | number, unknown>;
  if (rest.length > 0) plainRemove(inside[step], rest);
  else if (Array.isArray(inside)) inside.splice(step as number, 1);
  else delete inside[step];
}

/** A way into a value: mostly one that leads somewhere, sometimes one step too far or beside. */
function chooseSteps(random: Random, tree: Tree): (string | number)[] {
  const steps: (string | number)[] = [];
  let at: Tree | undefined = tree;
  while (at !== undefined && random.chance(0.8)) {
    const here: Tree = at;
    if (here.kind === "object" && here.members.length > 0 && random.chance(0.8)) {
      const { key, value }: Tree["members"][number] = random.pick(here.members);
      steps.push(key);
      at = value;
    } else if (here.kind === "array" && random.chance(0.9)) {
      const index = random.below(here.elements.length + 1);
      steps.push(index);
      at = here.elements[index];
    } else {
      steps.push(random.pick(["new", "a", "__proto__", "constructor", 0, 1, "x y", ""]));
      at = undefined;
      while (random.chance(0.3)) steps.push(random.pick(["deep", "er", 0, 1]));
    }
  }
  return steps;
}

/** Many valid values, each inside of something, with a way into it. */
function forWays(check: (bytes: Buffer, tree: Tree, steps: (string | number)[], random: Random) => void): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const bytes = Buffer.from(`[7,${jsonText(random)},8]`);
      const { tree } = readJson(bytes);
      if (tree !== null) check(bytes, tree.elements[1], chooseSteps(random, tree.elements[1]), random);
    }),
    { numRuns: runs(1500) },
  );
}

const VALUES = [1, "two", null, { a: [1, { b: "é\u2028\n" }] }, [], {}, true, -1.5e-7, "\ud800"];

const read = (text: string): unknown => (JSON.parse(text) as unknown[])[1];

test("setting is what the same is to a parsed value, and every other byte stays", () => {
  forWays((bytes, tree, steps, random) => {
    const text = bytes.toString("utf8");
    const value = random.pick(VALUES);
    const change = setAt(bytes, tree, steps, encodeJson(value) ?? "");
    let wanted: unknown;
    try {
      wanted = plainSet(read(text), steps, value);
    } catch {
      return expect(change).toHaveProperty("problem");
    }
    if ("problem" in change) throw new Error(`${text} ${JSON.stringify(steps)}: ${change.problem}`);
    expect(JSON.stringify(read(after(text, change)))).toBe(JSON.stringify(wanted));
    const [edit, ...others]: readonly Edit[] = change.edits;
    expect(others).toEqual([]);
    // Either one whole value gives way, or nothing does.
    const isValue = everyTree(tree).some(({ start, end }) => start === edit.span.start && end === edit.span.end);
    expect(isValue || edit.span.start === edit.span.end).toBe(true);
  });
});

test("taking out is what the same is to a parsed value, and with it goes one comma", () => {
  forWays((bytes, tree, steps) => {
    const text = bytes.toString("utf8");
    const change = removeAt(bytes, tree, steps);
    if (steps.length === 0) return expect(change).toHaveProperty("problem");
    if ("problem" in change) throw new Error(change.problem);
    const wanted = read(text);
    plainRemove(wanted, steps);
    expect(JSON.stringify(read(after(text, change)))).toBe(JSON.stringify(wanted));
    expect(change.edits.length).toBeLessThanOrEqual(1);
    for (const { span, by } of change.edits) {
      expect(by).toHaveLength(0);
      const gone: Span[] = everyTree(tree).flatMap(({ members, elements }) =>
        members.map(({ start, value }): Span => ({ start, end: value.end })).concat(elements),
      );
      // What is cut is one item, and around it space and at most one comma.
      const cut = (start: number, end: number): string => bytes.toString("utf8", start, end);
      const fits = gone.some(
        ({ start, end }) =>
          start >= span.start && end <= span.end && /^\s*,?\s*$/.test(cut(span.start, start) + cut(end, span.end)),
      );
      expect(fits).toBe(true);
    }
  });
});

function everyTree(tree: Tree): Tree[] {
  return [tree, ...tree.elements.flatMap(everyTree), ...tree.members.flatMap(({ value }) => everyTree(value))];
}

describe("what is written is JSON", () => {
  test("compact, and exact", () => {
    expect(encodeJson({ a: [1, 2n ** 80n, -0, "\u2028\ud800", null], b: undefined, "": {} })).toBe(
      '{"a":[1,1208925819614629174706176,0,"\u2028\\ud800",null],"":{}}',
    );
  });

  test("or nothing", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    for (const odd of [Infinity, undefined, () => 1, Symbol("x"), new Date(), new Map(), [undefined], loop]) {
      expect(encodeJson(odd)).toBeNull();
    }
    expect(encodeJson(Object.create(null))).toBe("{}");
  });

  test("as JSON.stringify has it", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => encodeJson(value) === JSON.stringify(value)));
  });
});
