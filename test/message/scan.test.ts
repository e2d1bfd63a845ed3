import { isAscii } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SLOT } from "../../src/message/keys.ts";
import { MAX_DEPTH, scan, type Scan } from "../../src/message/scan.ts";
import { jsonText, messageText } from "../fuzz/json-texts.ts";
import { mutate } from "../fuzz/mutate.ts";
import { allFaults, readLeniently } from "../fuzz/naive-json.ts";
import { findOddKey, member } from "../fuzz/profile.ts";
import { createRandom, type Random } from "../fuzz/random.ts";
import { costOfWeighing, cpuTime, leastCpuTime, LONG_KEY } from "../support/cpu.ts";
import { runs } from "../support/runs.ts";

interface Surroundings {
  readonly before: string;
  readonly after: string;
}

const ALONE: Surroundings = { before: "", after: "" };

/** Scans bytes that may have neighbours in their buffer. Places in what is found are counted from their own beginning. */
function scanWithin(bytes: Buffer, { before, after }: Surroundings): Scan {
  const buffer = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
  const start = Buffer.byteLength(before);
  const found = scan({ bytes: buffer, start, end: start + bytes.length, ascii: isAscii(buffer) });
  return { ...found, spans: found.spans.map((place) => (place < 0 ? place : place - start)) };
}

/** What is wrong with a text by the plain reading that the scanner is held against. */
function oracle(bytes: Buffer): Set<string> {
  const faults = new Set<string>(allFaults(bytes));
  const tree = readLeniently(bytes);
  const odd = tree === null || faults.has("too-deep") ? null : findOddKey(tree);
  if (odd !== null) faults.add(odd);
  return faults;
}

/** Fails where the scanner and the plain reading differ. */
function expectAgreement(text: string | Buffer, around: Surroundings = ALONE): void {
  const bytes = Buffer.from(text);
  const faults = oracle(bytes);
  const found = scanWithin(bytes, around);
  const complaints = faults.size === 0 ? comparePlaces(bytes, found) : [];
  if (!isSameFault(found.fault, faults)) complaints.push("fault");
  // Not `expect` for each of them: there are hundreds of thousands.
  if (complaints.length === 0) return;
  throw new Error(JSON.stringify({ complaints, text: bytes.toString("latin1"), around, faults: [...faults], found }));
}

/** Which of several faults is named is the scanner's choice; that nesting is too deep shows before the end does. */
function isSameFault(found: Scan["fault"], faults: ReadonlySet<string>): boolean {
  if (found === null || faults.size === 0) return found === null && faults.size === 0;
  return found === "too-deep" || found === "variant-key" || found === "prototype-key" || faults.has(found);
}

/** The spans are the values' own text, and line breaks between tokens are noticed. */
function comparePlaces(bytes: Buffer, found: Scan): string[] {
  const tree = readLeniently(bytes);
  const params = tree?.kind === "object" ? member(tree, "params") : undefined;
  const complaints = Object.entries(SLOT).flatMap(([name, slot]) => {
    const holder = slot >= SLOT.name ? params : tree;
    const value = holder?.kind === "object" ? member(holder, name) : undefined;
    const [start, end] = [found.spans[2 * slot], found.spans[2 * slot + 1]];
    return (value === undefined ? start === -1 : start === value.start && end === value.end) ? [] : [name];
  });
  const between = bytes.toString("latin1").replace(/"(?:[^"\\]|\\.)*"/g, '""');
  if (found.breaks !== /[\r\n]/.test(between.replace(/\r$/, ""))) complaints.push("breaks");
  if (tree !== null && found.opens !== bytes[tree.start]) complaints.push("opens");
  return complaints;
}

/** Runs a check on many texts that are made by chance. A failure names the seed that makes the text again. */
function forTexts(check: (text: string, random: Random) => void): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      check(random.chance(0.5) ? jsonText(random) : messageText(random), random);
    }),
    { numRuns: runs(4000) },
  );
}

describe("the scanner agrees with a plain reading", { timeout: 30_000 }, () => {
  test("on any JSON, and on what looks like messages", () => {
    forTexts((text) => expectAgreement(text));
  });

  test("on JSON that was broken a little", () => {
    forTexts((text, random) => expectAgreement(mutate(random, [Buffer.from(text)])));
  });

  test("whatever stands around it in its buffer", () => {
    const before = ["", "x", '{"a":', "[[", '"', "é", "   "];
    const after = ["", '"', '"}', "}", "]}", ",1]", "\n", "\r\n", "x", '":1}', "\\", "é", `${"y".repeat(60)}"}`];
    forTexts((text, random) => {
      const around = { before: random.pick(before), after: random.pick(after) };
      if (/^\s*[[{]/.test(text)) expectAgreement(text, around);
    });
  });

  test("when what it lacks stands right behind its end", () => {
    forTexts((text, random) => {
      const bytes = Buffer.from(text);
      const end = random.below(bytes.length + 1);
      const part = bytes.subarray(0, end);
      const { fault } = scan({ bytes, start: 0, end, ascii: isAscii(bytes) });
      // A number at the root is read on, and then refused: it is no message either way.
      if (fault === null && oracle(part).size > 0) throw new Error(`took ${part.toString("latin1")} for JSON`);
    });
  });
});

const table = (...rows: string[]): string => `{"params":{"arguments":{"rows":[${rows.join(",")}]}}}`;

describe("the rows of a table", () => {
  const plain = '{"a":1,"b":2,"c":3}';

  test.each([
    ["all alike", [plain, plain, plain], null],
    ["in another order", [plain, '{"c":1,"b":2,"a":3}', plain], null],
    ["one shorter", [plain, '{"a":1}', plain], null],
    ["one longer", [plain, '{"a":1,"b":2,"c":3,"d":4}', plain], null],
    ["one with another first key", [plain, '{"x":1,"b":2,"c":3}', plain], null],
    ["one with the prefix of a key", [plain, '{"a":1,"bb":2,"c":3}', '{"a":1,"b":2,"bb":3}'], null],
    ["one that repeats its first key last", [plain, '{"a":1,"b":2,"c":3,"a":4}', plain], "duplicate-key"],
    ["one that repeats its first key in the place of the second", [plain, '{"a":1,"a":2,"c":3}'], "duplicate-key"],
    ["one that repeats its last key at once", [plain, '{"a":1,"b":2,"c":3,"c":4}'], "duplicate-key"],
    ["one that repeats a key by an escape", [plain, '{"a":1,"b":2,"\\u0061":3}'], "duplicate-key"],
    ["one that repeats an escaped key plainly", [plain, '{"\\u0061":1,"b":2,"a":3}'], "duplicate-key"],
    ["one whose changed key repeats a later one", [plain, '{"c":1,"b":2,"c":3}'], "duplicate-key"],
    ["a repeated key in the first row only", ['{"a":1,"a":2}', plain], "duplicate-key"],
    [
      "a repeated key after sixteen alike",
      [...Array.from({ length: 16 }, () => plain), '{"b":1,"c":2,"b":3}'],
      "duplicate-key",
    ],
    [
      "rows within rows",
      [`{"a":[${plain},${plain}],"b":2}`, `{"a":[${plain},{"a":1,"b":1,"a":1}],"b":2}`],
      "duplicate-key",
    ],
  ])("%s", (_what, rows, fault) => {
    expect(scanWithin(Buffer.from(table(...rows)), ALONE).fault).toBe(fault);
  });

  test("what one message had is not remembered for the next", () => {
    expect(scanWithin(Buffer.from(table(plain, plain)), ALONE).fault).toBeNull();
    expect(scanWithin(Buffer.from(table('{"a":1,"a":2}')), ALONE).fault).toBe("duplicate-key");
    expect(scanWithin(Buffer.from(table('{"x":{"\\u0061":1,')), ALONE).fault).toBe("not-json");
    expect(scanWithin(Buffer.from(table('{"x":{"a":1}}')), ALONE).fault).toBeNull();
  });
});

describe("keys that were learnt from messages before", () => {
  test("are told from keys that differ in any one byte", () => {
    for (let length = 0; length <= 70; length++) {
      const key = "abcdefghij".repeat(7).slice(0, length);
      for (let place = 0; place < length; place++) {
        const changed = `${key.slice(0, place)}X${key.slice(place + 1)}`;
        expectAgreement(`{"${length}":{"${key}":1,"${changed}":2}}`);
        expectAgreement(`{"${length}":{"${changed}":1,"${changed}":2}}`);
        expectAgreement(`{"${length}":{"${key}":1,"${key}":2}}`);
      }
    }
  });

  test("are not found where a message ends within them, whatever comes behind its end", () => {
    const bytes = Buffer.from('{"method":"a","params":{"name":"b","arguments":{"x":1,"a longer key":2}}}');
    expect(scanWithin(bytes, ALONE).fault).toBeNull();
    for (let end = 0; end < bytes.length; end++) {
      expect(scan({ bytes, start: 0, end, ascii: true }).fault).toBe("not-json");
      expect(scanWithin(bytes.subarray(0, end), ALONE).fault).toBe("not-json");
    }
  });

  test("do not lend their meaning to the same keys in other places", () => {
    const texts = [
      '{"params":{"name":"a","uri":"b"},"id":1}',
      '{"params":[{"name":"a","uri":"b"}],"id":1}',
      '{"params":[[{"name":"a"}],{"params":{"name":"b"}}],"id":1}',
      '{"result":{"params":{"name":"a"},"id":2},"id":1}',
      '[{"params":{"name":"a"},"id":1}]',
      '{"x":{"params":{"name":"a"}},"params":{"params":{"name":"a"}}}',
      '{"a lost \\u006bey":1,"params":{"name":"a","uri":"b"},"id":1}',
      '{"params":{"a lost \\u006bey":1,"name":"a"},"id":1}',
    ];
    for (const first of texts)
      for (const second of texts) [first, second, first].forEach((text) => expectAgreement(text));
  });

  test("are found below keys that were not learnt, and are new in each object", () => {
    for (const outer of ['"a lost \\u006bey":', '"key" :', `"${"long".repeat(20)}":`]) {
      for (const inner of [
        '{"a":1,"b":2}',
        '{"a":1,"b":2,"a":3}',
        '{"a":1,"b":{"a":1,"a":2}}',
        '[{"a":1},{"a":1,"a":2}]',
      ]) {
        for (let again = 0; again < 3; again++) {
          expectAgreement(`{${outer}${inner},"id":1}`);
          expectAgreement(`{"params":{${outer}${inner},"name":"x"},"id":1}`);
        }
      }
    }
  });

  test("are read alike with spaces around them", () => {
    const text = '{"params":{"name":"a","uri":"b"},"id":1}';
    const spaced = text.replaceAll(/[{}:,]/g, (token) => ` ${token} `);
    [text, spaced, text, text.replaceAll(":", " :"), text.replaceAll(",", ", ")].forEach((each) =>
      expectAgreement(each),
    );
  });

  test.each(['"ID":1', '"Params":{}', '"__proto__":1', '"id":1,"id":2', '"\\u0069d":1', '"\\ud800":1'])(
    "do not include those that have a fault: %s",
    (members) => {
      for (const text of [`{${members}}`, `{"a":1,${members}}`, `{"params":{${members}}}`]) {
        const { fault } = scanWithin(Buffer.from(text), ALONE);
        for (let again = 0; again < 3; again++) expect(scanWithin(Buffer.from(text), ALONE).fault).toBe(fault);
        expectAgreement(text);
      }
    },
  );

  test("may be more than are kept", () => {
    for (let nth = 0; nth < 12_000; nth++) {
      const keys = [nth % 10, nth % 100, nth % 1000, nth].map((number, place) => `"${"abcd"[place]}${number}":1`);
      const text = `{"params":{"name":"a",${keys.join(",")}},"id":${nth}}`;
      expectAgreement(nth % 50 === 0 ? text.replace('"name"', `${keys[3]},"name"`) : text);
    }
  });
});

const wrap = (members: string[]): string => `{"x":{"y":[{${members.join(",")}}]}}`;

test.each([16, 17, 23, 24, 25, 26, 31, 32, 33, 1000])("a key repeated anywhere among %i is found", (count) => {
  const names = Array.from({ length: count }, (_, index) => `"k${index}":0`);
  expect(scanWithin(Buffer.from(wrap(names)), ALONE).fault).toBeNull();
  for (const again of [0, 1, 15, 16, 22, 23, 24, 31, count - 1].filter((index) => index < count)) {
    for (const spelled of [`"k${again}":1`, `"\\u006b${again}":1`])
      for (const place of [0, again, again + 1, count]) {
        const members = [...names];
        members.splice(place, 0, spelled);
        expect(scanWithin(Buffer.from(wrap(members)), ALONE).fault).toBe("duplicate-key");
      }
  }
});

test("more keys than fit into memory at first are all compared", () => {
  const names = Array.from({ length: 70_000 }, (_, index) => `"k${index}":0`);
  const text = (more: string): Buffer => Buffer.from(`{"x":{${names.join(",")}${more}}}`);
  expect(scanWithin(text(""), ALONE).fault).toBeNull();
  expect(scanWithin(text(',"k3":0'), ALONE).fault).toBe("duplicate-key");
  expect(scanWithin(Buffer.from('{"a":{"b":1},"a":1}'), ALONE).fault).toBe("duplicate-key");
});

test.each([
  ["at the root", '{"@":1}'],
  ["at the root, with an escape", '{"\\u0061@":1}'],
  ["in params", '{"params":{"@":1}}'],
  ["in params, with an escape", '{"params":{"\\u0061@":1}}'],
])("a key of megabytes is not weighed for as long as it is: %s", async (_where, text) => {
  const bytes = Buffer.from(text.replace("@", LONG_KEY));
  expect(await leastCpuTime(() => scanWithin(bytes, ALONE))).toBeLessThan((await costOfWeighing()) / 2);
});

test.each([
  ["arrays", "[", "]"],
  ["objects", '{"a":', "}"],
])("%s may be nested 128 deep, and no deeper", (_what, open, close) => {
  for (const depth of [MAX_DEPTH - 1, MAX_DEPTH]) {
    const text = open.repeat(depth - 1) + (open === "[" ? "[]" : "{}") + close.repeat(depth - 1);
    expect(scanWithin(Buffer.from(text), ALONE).fault).toBeNull();
    expectAgreement(text);
  }
  const deep = open.repeat(MAX_DEPTH) + (open === "[" ? "[]" : "{}") + close.repeat(MAX_DEPTH);
  expect(scanWithin(Buffer.from(deep), ALONE).fault).toBe("too-deep");
  expect(scanWithin(Buffer.from(open.repeat(100_000)), ALONE).fault).toBe("too-deep");
});

const rows = (row: string): Buffer => Buffer.from(`[${`${row},`.repeat(200_000)}0]`);

describe("escaped keys", () => {
  test("are not those of the object before, inside or around", () => {
    const text = '[{"\\u0061":{"\\u0061":[{"\\u0061":0},{"a":0}]}},{"\\u0061":0,"b":{"\\u0062":0}},{"a":0}]';
    expect(scanWithin(Buffer.from(text), ALONE).fault).toBeNull();
    scanWithin(Buffer.from('[{"\\u0061":0,'), ALONE);
    expect(scanWithin(Buffer.from(text), ALONE).fault).toBeNull();
  });

  test("do not cost many times what others do", async () => {
    const plain = await cpuTime(() => scanWithin(rows('{"a":0}'), ALONE));
    expect(await cpuTime(() => scanWithin(rows('{"\\u0061":0}'), ALONE))).toBeLessThan(200 + 5 * plain);
  });

  test("do not cost many times what others do where there are many of them in one object", async () => {
    const escaped = manyKeys((key) => `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}`);
    const plain = manyKeys((key) => key);
    expect(scanWithin(escaped, ALONE).fault).toBeNull();
    const cost = await leastCpuTime(() => scan({ bytes: plain, start: 0, end: plain.length, ascii: true }), 3);
    const work = () => scan({ bytes: escaped, start: 0, end: escaped.length, ascii: true });
    expect(await leastCpuTime(work, 3)).toBeLessThan(30 + 1.5 * cost);
  });
});

/** An object with many keys, each spelled in some way. */
function manyKeys(spell: (key: string) => string): Buffer {
  const members = Array.from({ length: 200_000 }, (_, nth) => `"${spell(nth.toString(36).padStart(4, "0"))}":0`);
  return Buffer.from(`{"a":{${members.join(",")}}}`);
}
