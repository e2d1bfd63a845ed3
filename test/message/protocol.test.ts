import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { isKnownMethod } from "../../src/message/methods.ts";
import {
  allowsBatches,
  HEADERS,
  isStatelessRevision,
  LOWER_HEADERS,
  LOWER_PARAM_HEADER,
  NAMED_IN_HEADER,
  nearestRevision,
  OWN_REVISION,
  PARAM_HEADER,
  type Revision,
  REVISIONS,
} from "../../src/message/protocol.ts";

const NAMES = Object.keys(REVISIONS) as Revision[];
const source = resolve(import.meta.dirname, "../../src");

/** Every file but the one for the protocol, without its comments. */
const CODE = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => join(source, name))
  .map((file) => ({ file: relative(source, file).replaceAll("\\", "/"), code: withoutComments(file) }))
  .filter(({ file }) => file !== "message/protocol.ts");

function withoutComments(file: string): string {
  return readFileSync(file, "utf8").replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
}

function filesWith(pattern: RegExp): string[] {
  return CODE.filter(({ code }) => pattern.test(code)).map(({ file }) => file);
}

describe("revisions", () => {
  test("stand in the order in which they sort", () => {
    expect([...NAMES].sort()).toEqual(NAMES);
  });

  test("of the stateless era come after all others, and so does what is not known yet", () => {
    const eras = NAMES.map((name) => REVISIONS[name].era);
    expect([...eras].sort()).toEqual(eras); // "stateful" sorts before "stateless"
    for (const name of NAMES) expect(isStatelessRevision(name), name).toBe(REVISIONS[name].era === "stateless");
    expect(isStatelessRevision("2099-01-01")).toBe(true);
    expect(isStatelessRevision("2025-12-31")).toBe(false);
  });

  test("of our own are of the era that we speak in", () => {
    expect(REVISIONS[OWN_REVISION.stateful].era).toBe("stateful");
    expect(REVISIONS[OWN_REVISION.stateless].era).toBe("stateless");
  });

  test("that are not known are taken for the one before", () => {
    expect(nearestRevision("2025-07-01")).toBe("2025-06-18");
    expect(nearestRevision("2099-01-01")).toBe(NAMES.at(-1));
    expect(nearestRevision("1999-01-01")).toBe(NAMES[0]);
  });

  test("allow batches in 2025-03-26 only", () => {
    expect([...NAMES, "2025-03-27", "toString"].filter((name) => allowsBatches(name))).toEqual(["2025-03-26"]);
    expect(allowsBatches(null)).toBe(false);
  });
});

describe("the names of the protocol", () => {
  test("are the same in lower case", () => {
    const lower = Object.fromEntries(Object.entries(HEADERS).map(([key, name]) => [key, name.toLowerCase()]));
    expect(LOWER_HEADERS).toEqual(lower);
    expect(LOWER_PARAM_HEADER).toBe(PARAM_HEADER.toLowerCase());
  });

  test("are those of known methods", () => {
    for (const method of NAMED_IN_HEADER) expect(isKnownMethod(method), method).toBe(true);
  });

  test("stand in one file: revisions", () => {
    // What results look like is a table by revision, and the compiler knows its names.
    expect(filesWith(new RegExp(NAMES.join("|")))).toEqual(["policy/results/result-shapes.ts"]);
  });

  test("stand in one file: keys in _meta", () => {
    expect(filesWith(/io\.modelcontextprotocol/)).toEqual([]);
  });

  test("stand in one file: headers", () => {
    // The wire knows nothing of messages, and must not remember a line that differs in every response.
    expect(filesWith(/"(?:mcp-(?:session-id|protocol-version|method|name|param-)|x-mcp-header)/i)).toEqual([
      "wire/http-head.ts",
    ]);
  });

  test("are spelled right wherever a method is named", () => {
    const written = CODE.flatMap(({ file, code }) =>
      Array.from(
        code.matchAll(/"((?:tools|prompts|resources|tasks|sampling|elicitation|roots|completion)\/[a-zA-Z/_]+)"/g),
        ([, method]) => ({ file, method }),
      ),
    );
    expect(written.length).toBeGreaterThan(50);
    expect(written.filter(({ method }) => !isKnownMethod(method))).toEqual([]);
  });
});
