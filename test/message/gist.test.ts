import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createExcess, createGistReader, type Gist } from "../../src/message/gist.ts";
import { type Id, spell } from "../../src/message/id.ts";
import { jsonText, messageText } from "../fuzz/json-texts.ts";
import { cut } from "../fuzz/mutate.ts";
import { readJson } from "../fuzz/naive-json.ts";
import { createRandom } from "../fuzz/random.ts";
import { runs } from "../support/runs.ts";

function gist(...chunks: (string | Buffer)[]): Gist {
  const reader = createGistReader();
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  return reader.end();
}

test("what JSON.parse finds at the root is found, however the bytes are cut", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const bytes = Buffer.from(random.chance(0.8) ? messageText(random) : jsonText(random));
      const { tree } = readJson(bytes);
      if (tree === null) return;
      const ids = tree.members
        .filter(({ key }) => key === "id")
        .map(({ value }) => bytes.toString("latin1", value.start, value.end));
      const found = gist(...cut(random, bytes));
      expect(found).toEqual(gist(bytes));
      const has = (...names: string[]): boolean => tree.members.some(({ key }) => names.includes(key));
      const isAnswer = has("result", "error") && !has("method");
      const isObject = bytes.toString("latin1").trimStart().startsWith("{");
      expect(found.like).toBe(isAnswer ? "answer" : has("id") || !isObject ? "request" : "neither");
      const isProper = ids.length === 1 && /^(0|-?[1-9]\d{0,14}|"[^\\]*")$/.test(ids[0]);
      if (isProper) expect(shown(found.id)).toBe(ids[0]);
      else if (found.id !== null) expect(ids).toEqual([spell(found.id)]);
    }),
    { numRuns: runs(3000) },
  );
});

describe("whose a message was", () => {
  test.each([
    ['{"id":7,"method":"x"}', "7", "request"],
    ['{"method":"x","params":{"id":8,"method":"y"},"id":7}', "7", "request"],
    ['{"params":[{"id":8}],"id":"seven"}', '"seven"', "request"],
    ['{"result":{"id":8},"\\u0069d":7}', "7", "answer"],
    [' { "id" : 7 , "m\\u0065thod" : 1 } ', "7", "request"],
    ['{"text":"\\"id\\":8,{","id":7}', "7", "request"],
    ['{"a":"\\\\","id":7}', "7", "request"],
    ['{"id":7,"result":{"unfinished":"', "7", "answer"],
    ['{"result":{},"id":-7}', "-7", "answer"],
  ])("%s", (text, id, like) => {
    const found = gist(text);
    expect({ id: shown(found.id), like: found.like }).toEqual({ id, like });
    expect(gist(...Array.from(text))).toEqual(found);
  });
});

describe("nobody is told where it is not certain whom to tell", () => {
  test.each([
    ["two ids", '{"id":7,"id":8}'],
    ["the same id twice", '{"id":7,"id":7}'],
    ["an id by position", "[7]"],
    ["no object", '"id"'],
    ["text before the object", 'x{"id":7}'],
    ["a fraction", '{"id":7.0}'],
    ["null", '{"id":null}'],
    ["a list", '{"id":[7]}'],
    ["an object", '{"id":{"id":7}}'],
    ["an id of more than a kilobyte", `{"id":"${"x".repeat(5000)}"}`],
    ["an id that is no UTF-8", Buffer.from('{"id":"\xff"}', "latin1")],
    ["a broken escape in the id", '{"id":"\\x"}'],
    ["half a surrogate pair", '{"id":"\\ud800"}'],
    ["something behind the id's closing quote", '{"id":"1"ull}'],
    ["something before the id's opening quote", '{"id":7"1"}'],
    ["a raw control character in the id", '{"id":"a\u0001b"}'],
    ["a raw CR in the id", '{"id":"a\rb"}'],
    ["two strings for an id", '{"id":"a" "b"}'],
    ["nothing", ""],
    ["braces that close what nobody opened", '}]}{"id":7}'],
  ])("%s", (_what, text) => {
    expect(gist(text).id).toBeNull();
  });
});

test("whatever the bytes are, reading them does not throw, and what is echoed as an id is JSON", () => {
  const pieces = fc.constantFrom(
    ...Array.from('{}[]:,"\\d71 -.\r\t\u0001xu'),
    "\u00e9",
    '"id":',
    '"method":',
    '"a"',
    "7",
  );
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 8 }),
      fc.constantFrom("", "{", '{"id":', '{"id":"'),
      (parts, beginning) => {
        const { id } = gist(`${beginning}${parts.join("")}}`);
        if (id === null) return;
        expect(["string", "number"]).toContain(typeof JSON.parse(Buffer.from(spell(id), "latin1").toString("utf8")));
      },
    ),
    { numRuns: runs(5000) },
  );
});

test("a message of megabytes is followed without being kept", () => {
  const reader = createGistReader();
  reader.push(Buffer.from('{"params":{"t":"'));
  const filling = Buffer.alloc(65_536, '[{\\"id\\":8,');
  for (let turn = 0; turn < 200; turn++) reader.push(filling);
  reader.push(Buffer.from('"},"method":"x","id":"last"}'));
  expect(reader.end()).toMatchObject({ id: { key: "last", quoted: '"last"' }, like: "request" });
});

function shown(id: Id | null): string | undefined {
  return id === null ? undefined : spell(id);
}

describe("messages that are too large to keep", () => {
  test("are told one after the other, each with its size", () => {
    const told: string[] = [];
    const excess = createExcess(({ id, like }, bytes) => told.push(`${like} ${shown(id)}: ${bytes}`));
    excess(Buffer.from('{"id":1,'), false);
    excess(Buffer.from('"method":"x"}'), true);
    excess(Buffer.from('{"id":"2","result":{}}'), true);
    excess(Buffer.from(" "), true);
    expect(told).toEqual(["request 1: 21", 'answer "2": 22', "request undefined: 1"]);
  });

  test("are given up one byte past the limit, though they have not ended, and the next one is told again", () => {
    const told: string[] = [];
    const excess = createExcess(({ id, like }, bytes) => told.push(`${like} ${shown(id)}: ${bytes}`), 20);
    excess(Buffer.from('{"id":1,"method":"x"'), false);
    expect(told).toEqual([]);
    excess(Buffer.from(" "), false);
    expect(told).toEqual(["request 1: 21"]);
    for (let times = 0; times < 3; times++) excess(Buffer.from(',"id":2'), false);
    excess(Buffer.from("}"), true);
    expect(told).toEqual(["request 1: 21"]);
    excess(Buffer.from('{"id":3,"result":{}}'), true);
    expect(told).toEqual(["request 1: 21", "answer 3: 20"]);
  });

  test("are unwrapped first where they do not come alone", () => {
    const told: (string | undefined)[] = [];
    const excess = createExcess(
      ({ id }) => told.push(shown(id)),
      1000,
      (take) => (bytes) => take(bytes.subarray(1)),
    );
    excess(Buffer.from('!{"id":'), false);
    excess(Buffer.from("!5}"), true);
    expect(told).toEqual(["5"]);
  });
});
