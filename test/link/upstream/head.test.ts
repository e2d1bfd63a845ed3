import { describe, expect, test } from "vitest";
import { headersBack, kindOf } from "../../../src/link/upstream/head.ts";
import { parseHead, type ResponseHead } from "../../../src/wire/http-head.ts";

function head(...lines: string[]): ResponseHead {
  const parsed = parseHead(["HTTP/1.1 200 OK", ...lines].join("\r\n"));
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

const back = (...lines: string[]): string[] => headersBack(head(...lines), (_, value) => value);

describe("what a body is", () => {
  test.each([
    [["Content-Type: application/json"], "json"],
    [["content-type: Application/JSON; charset=utf-8"], "json"],
    [["Content-Type: text/event-stream"], "events"],
    [["Content-Type: text/event-stream;charset=UTF-8"], "events"],
    [["Content-Type: text/event-stream", "Content-Encoding: identity"], "events"],
    [["Content-Type: text/html"], "other"],
    [[], "other"],
    [["Content-Type: application/json", "Content-Encoding: gzip"], "other"],
    [["Content-Type: application/json", "Content-Encoding: identity", "Content-Encoding: br"], "other"],
    [["Content-Type: application/json", "Content-Type: text/event-stream"], "other"],
    [["Content-Type: application/json", "Content-Type: application/json"], "json"],
    [["Content-Type: application/json, text/event-stream"], "other"],
    [["Content-Type: application/jsonl"], "other"],
  ])("%j is %s", (lines, kind) => {
    expect(kindOf(head(...lines))).toBe(kind);
  });
});

describe("the type of a body, as clients see it", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    'text/event-stream;charset="UTF-8"',
    "text/event-stream",
  ])("%s stays", (type) => {
    expect(back(`Content-Type: ${type}`)).toEqual(["Content-Type", type]);
  });

  test.each([
    ["text/event-stream; charset=utf-16le", "text/event-stream"],
    ["text/event-stream; charset=utf-8; charset=utf-7", "text/event-stream"],
    ["application/json;charset=ISO-8859-1", "application/json"],
    ["application/json; x=text/event-stream", "application/json"],
  ])("%s is %s: the body was read as UTF-8", (type, shown) => {
    expect(back(`content-type: ${type}`)).toEqual(["content-type", shown]);
  });

  test("stands once, and nothing is said to be encoded", () => {
    const lines = ["Content-Type: application/json", "content-type: application/json; x", "Content-Encoding: identity"];
    expect(back(...lines)).toEqual(["Content-Type", "application/json"]);
  });
});
