import { describe, expect, test } from "vitest";
import { openMessage, whole } from "../../src/message/message.ts";
import {
  type CatalogueKeeper,
  createCatalogue,
  MAX_CATALOGUE_BYTES,
  MAX_FAULTS,
  MAX_PAGES,
  MAX_TOOLS,
} from "../../src/session/catalogue.ts";
import { MAX_CURSOR_CHARACTERS } from "../../src/session/tool-page.ts";
import { readToolPage } from "../../src/session/tool-page.ts";

function learn(
  catalogue: CatalogueKeeper,
  result: string,
  cursor: string | null,
  version = catalogue.listVersion,
): void {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
  const { envelope } = openMessage(whole(bytes), "down", "refuse");
  const page = envelope.kind === "result" ? readToolPage(bytes, envelope.result) : undefined;
  if (page === undefined) throw new Error(`no page: ${result}`);
  catalogue.learn(bytes, page, cursor, version);
  // What was learnt is kept when the bytes it came in are used for something else.
  bytes.fill(0);
}

const tool = (name: string): string => `{"name":"${name}","inputSchema":{}}`;
const names = ({ tools }: CatalogueKeeper): string[] => tools.map(({ name }) => name);
/** The result that a list of all tools is put into. */
const frame = ({ frame: around }: CatalogueKeeper): string =>
  `${around?.before.toString()}…${around?.after.toString()}`;

const many = (count: number): string => Array.from({ length: count }, (_, index) => tool(`t${index}`)).join(",");

const page = (bytes: number, rest: string): string => {
  const text = `{"tools":[${tool("a")}],"more":"@"${rest}}`;
  return text.replace("@", "x".repeat(bytes - text.length + 1));
};

test("a list of one page is whole when the page is learnt", () => {
  const catalogue = createCatalogue();
  expect(catalogue.isComplete).toBe(false);
  expect(catalogue.next).toBeUndefined();
  learn(catalogue, `{"tools":[${tool("a")},${tool("b")}]}`, null);
  expect(catalogue.isComplete).toBe(true);
  expect(names(catalogue)).toEqual(["a", "b"]);
  expect(catalogue.tools[1].raw.toString()).toBe(tool("b"));
});

test("a list of several pages is whole when the last is learnt, and the empty text is a cursor", () => {
  const catalogue = createCatalogue();
  learn(catalogue, `{"tools":[${tool("a")}],"nextCursor":""}`, null);
  expect(catalogue.isComplete).toBe(false);
  expect(catalogue.next).toBe("");
  learn(catalogue, `{"tools":[${tool("b")}],"nextCursor":"3"}`, "");
  expect(catalogue.isComplete).toBe(false);
  learn(catalogue, `{"tools":[${tool("c")}]}`, "3");
  expect(catalogue.isComplete).toBe(true);
  expect(names(catalogue)).toEqual(["a", "b", "c"]);
});

test("a page that is not the next one is not learnt", () => {
  const catalogue = createCatalogue();
  learn(catalogue, `{"tools":[${tool("z")}]}`, "5");
  expect(names(catalogue)).toEqual([]);
  learn(catalogue, `{"tools":[${tool("a")}],"nextCursor":"2"}`, null);
  learn(catalogue, `{"tools":[${tool("z")}]}`, "3");
  expect(catalogue.isComplete).toBe(false);
  learn(catalogue, `{"tools":[${tool("b")}]}`, "2");
  learn(catalogue, `{"tools":[${tool("z")}]}`, "2");
  expect(names(catalogue)).toEqual(["a", "b"]);
});

test("the first page begins the list anew", () => {
  const catalogue = createCatalogue();
  learn(catalogue, `{"tools":[${tool("a")}]}`, null);
  learn(catalogue, `{"tools":[${tool("b")}]}`, null);
  expect(names(catalogue)).toEqual(["b"]);
});

test("an answer from before a change is not remembered", () => {
  const catalogue = createCatalogue();
  const before = catalogue.listVersion;
  catalogue.forget();
  learn(catalogue, `{"tools":[${tool("old")}]}`, null, before);
  expect(catalogue.isComplete).toBe(false);
  expect(names(catalogue)).toEqual([]);
});

test("a change makes the whole list unknown", () => {
  const catalogue = createCatalogue();
  learn(catalogue, `{"tools":[${tool("a")}]}`, null);
  const { version } = catalogue;
  catalogue.forget();
  expect(catalogue.version).toBeGreaterThan(version);
  expect(catalogue.isComplete).toBe(false);
  expect(names(catalogue)).toEqual([]);
});

test("a server that refuses to list its tools has none, and nobody is answered from that", () => {
  const catalogue = createCatalogue();
  catalogue.learnNone("refused");
  expect(catalogue).toMatchObject({ isComplete: true, isFresh: false, tools: [], frame: null });
});

test.each([
  ["stateful", '{"tools":[]}'],
  ["stateless", '{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}'],
] as const)("a server that declares no tools has an empty list, in the %s era", (era, text) => {
  const catalogue = createCatalogue(() => 0, false, era);
  catalogue.learnNone("not-declared");
  expect(catalogue).toMatchObject({ isComplete: true, isFresh: true, tools: [] });
  expect(`${catalogue.frame?.before.toString()}${catalogue.frame?.after.toString()}`).toBe(text);
});

test("bad entries are counted over all pages, and the first ten are described", () => {
  const catalogue = createCatalogue();
  learn(catalogue, `{"tools":[${tool("a")},null],"nextCursor":"2"}`, null);
  learn(catalogue, `{"tools":[${Array(MAX_FAULTS).fill("7").join(",")},${tool("b")}]}`, "2");
  expect(names(catalogue)).toEqual(["a", "b"]);
  expect(catalogue.faults.count).toBe(MAX_FAULTS + 1);
  expect(catalogue.faults.first.map(({ entry }) => entry)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  learn(catalogue, `{"tools":[${tool("a")}]}`, null);
  expect(catalogue.faults).toEqual({ count: 0, first: [] });
});

test("an entry that is no tool is not among the tools", () => {
  const catalogue = createCatalogue();
  learn(catalogue, `{"tools":[{"name":7,"inputSchema":{}},${tool("a")},{"name":"b"}]}`, null);
  expect(names(catalogue)).toEqual(["a"]);
});

describe("a list that is too large cannot be had, and nothing of it is kept", () => {
  const HAD = { isComplete: true, isTooLarge: false };
  const NOT_HAD = { isComplete: false, isTooLarge: true, tools: [], frame: null, next: undefined };

  test("with more than 10,000 tools", () => {
    const catalogue = createCatalogue();
    learn(catalogue, `{"tools":[${many(MAX_TOOLS)}]}`, null);
    expect(catalogue).toMatchObject(HAD);
    learn(catalogue, `{"tools":[${many(MAX_TOOLS)}],"nextCursor":"2"}`, null);
    learn(catalogue, `{"tools":[${tool("more")}]}`, "2");
    expect(catalogue).toMatchObject(NOT_HAD);
    learn(catalogue, `{"tools":[${tool("more")}]}`, "2");
    expect(catalogue).toMatchObject(NOT_HAD);
  });

  test("with more than 16 MB, on all pages together, what stands around the tools included", () => {
    const catalogue = createCatalogue();
    learn(catalogue, page(MAX_CATALOGUE_BYTES, ""), null);
    expect(catalogue).toMatchObject(HAD);
    learn(catalogue, page(MAX_CATALOGUE_BYTES + 1, ""), null);
    expect(catalogue).toMatchObject(NOT_HAD);
    learn(catalogue, page(MAX_CATALOGUE_BYTES - 1000, ',"nextCursor":"2"'), null);
    expect(catalogue.isTooLarge).toBe(false);
    learn(catalogue, `{"tools":[{"name":"b","inputSchema":{},"x":"${"x".repeat(2000)}"}]}`, "2");
    expect(catalogue).toMatchObject(NOT_HAD);
  });

  test("with more than 500 pages", () => {
    for (const count of [MAX_PAGES, MAX_PAGES + 1]) {
      const catalogue = createCatalogue();
      for (let nth = 1; nth <= count; nth++) {
        const next = nth === count ? "" : ',"nextCursor":"again"';
        learn(catalogue, `{"tools":[${tool(`t${nth}`)}]${next}}`, nth === 1 ? null : "again");
      }
      expect(catalogue).toMatchObject(count === MAX_PAGES ? HAD : NOT_HAD);
    }
  });

  test("with a cursor of more than 4,096 characters", () => {
    const cursor = "é".repeat(MAX_CURSOR_CHARACTERS);
    const catalogue = createCatalogue();
    learn(catalogue, `{"tools":[${tool("a")}],"nextCursor":"${cursor}"}`, null);
    expect(catalogue).toMatchObject({ isTooLarge: false, next: cursor });
    learn(catalogue, `{"tools":[${tool("a")}],"nextCursor":"${cursor}x"}`, null);
    expect(catalogue).toMatchObject(NOT_HAD);
  });

  test("until it is begun anew, or changes", () => {
    const catalogue = createCatalogue();
    const tooMany = `{"tools":[${many(MAX_TOOLS + 1)}]}`;
    learn(catalogue, tooMany, null);
    learn(catalogue, `{"tools":[${tool("a")}]}`, null);
    expect(catalogue).toMatchObject(HAD);
    learn(catalogue, tooMany, null);
    catalogue.forget();
    expect(catalogue.isTooLarge).toBe(false);
  });
});

describe("a list of all pages is put into the first page's result, without its cursor", () => {
  test.each([
    ['{"tools":[@]}', '{"tools":[…]}'],
    ['{"tools":[@],"nextCursor":"2"}', '{"tools":[…]}'],
    ['{"nextCursor":"2","tools":[@]}', '{"tools":[…]}'],
    ['{"a":1,"nextCursor":"2","tools":[@]}', '{"a":1,"tools":[…]}'],
    ['{"a":1,"tools":[@],"nextCursor":"2"}', '{"a":1,"tools":[…]}'],
    ['{"tools":[@],"nextCursor":"2","a":1}', '{"tools":[…],"a":1}'],
    ['{"tools":[@],"a":1,"nextCursor":"2"}', '{"tools":[…],"a":1}'],
    ['{ "tools" : [ @ ] , "nextCursor" : "2" , "a" : 1 }', '{ "tools" : […] , "a" : 1 }'],
    ['{ "nextCursor" : "2" , "tools" : [ @ ] }', '{ "tools" : […] }'],
    ['{"tools":[@] , "nextCursor":"2" }', '{"tools":[…]  }'],
    ['{"tools":[@],"nextCursor":null}', '{"tools":[…]}'],
    ['{"tools":[@],"nextC\\u0075rsor":"]}"}', '{"tools":[…]}'],
    [
      '{"x":{"nextCursor":"no"},"tools":[@],"_meta":{"nextCursor":1},"ttlMs":5}',
      '{"x":{"nextCursor":"no"},"tools":[…],"_meta":{"nextCursor":1},"ttlMs":5}',
    ],
  ])("%s", (result, around) => {
    const catalogue = createCatalogue();
    learn(catalogue, result.replace("@", tool("a")), null);
    expect(frame(catalogue)).toBe(around);
    expect(() => JSON.parse(frame(catalogue).replace("…", ""))).not.toThrow();
  });
});
