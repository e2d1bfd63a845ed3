import { describe, expect, test } from "vitest";
import { MAX_IDENTITY_CHARACTERS, readClientHead } from "../../../src/link/http/client-head.ts";
import { headersBack } from "../../../src/link/upstream/head.ts";
import { parseHead } from "../../../src/wire/http-head.ts";

const read = (...headers: string[]) => readClientHead(headers, new Set(), "x-user");

test("the header that names the client is read, in whatever case it is written", () => {
  expect(read("X-USER", "ada")).toMatchObject({ identity: "ada", doubtful: null });
  expect(read("Accept", "x")).toMatchObject({ identity: null, doubtful: null });
  expect(read("X-User", "")).toMatchObject({ identity: null, doubtful: null });
  expect(readClientHead(["X-User", "ada"])).toMatchObject({ identity: null, doubtful: null });
});

test.each([
  ["twice", ["X-User", "ada", "x-user", "bob"]],
  ["twice, and empty once", ["X-User", "", "X-User", "bob"]],
  ["twice, and empty the second time", ["X-User", "bob", "X-User", ""]],
  ["with an underscore", ["X_User", "bob"]],
  ["beside a Connection that has it taken away", ["X-User", "bob", "Connection", "close, X-User"]],
  ["behind such a Connection", ["Connection", "x-user", "X-User", "bob"]],
  ["with what stands for a client without a name", ["X-User", "address:127.0.0.1"]],
  ["too long", ["X-User", "x".repeat(MAX_IDENTITY_CHARACTERS + 1)]],
])("it is refused where it stands %s", (_, headers) => {
  expect(read(...headers).doubtful).not.toBeNull();
});

test("the longest name that is taken is", () => {
  const name = "x".repeat(MAX_IDENTITY_CHARACTERS);
  expect(read("X-User", name)).toMatchObject({ identity: name, doubtful: null });
});

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
