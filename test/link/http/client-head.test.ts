import { describe, expect, test } from "vitest";
import { readClientHead } from "../../../src/link/http/client-head.ts";
import { headersBack } from "../../../src/link/upstream/head.ts";
import { parseHead } from "../../../src/wire/http-head.ts";

/** What decides where a message ends, which connection it is for, or who reads it how. */
const FRAMING = [
  "Transfer-Encoding",
  "Content-Length",
  "Content-Type",
  "Content-Encoding",
  "Keep-Alive",
  "Proxy-Connection",
  "Proxy-Authorization",
  "Accept-Encoding",
  "Sec-Fetch-Site",
  "Mcp-Session-Id",
  "Last-Event-ID",
];

describe("a header whose name has an underscore where one that decides something has a dash", () => {
  test.each(FRAMING)("is refused in a request: %s", (name) => {
    expect(readClientHead([name.replaceAll("-", "_"), "1"]).doubtful).not.toBeNull();
    expect(readClientHead([name.replaceAll("-", "_").toUpperCase(), "1"]).doubtful).not.toBeNull();
    expect(readClientHead([name.replace("-", "_"), "1"]).doubtful).not.toBeNull();
  });

  test("is not passed on from a response", () => {
    const head = parseHead("HTTP/1.1 200 OK\r\nTransfer_Encoding: chunked\r\nContent_Length: 5\r\nX_Own: kept");
    if (typeof head === "string") throw new Error(head);
    expect(headersBack(head, (_, value) => value)).toEqual(["X_Own", "kept"]);
  });
});

test("other headers with an underscore pass", () => {
  const head = readClientHead(["X_Api_Key", "secret", "Host", "localhost"]);
  expect([head.doubtful, head.onward]).toEqual([null, "X_Api_Key: secret\r\n"]);
});
