import * as fc from "fast-check";
import { posix } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { matchesGlob } from "../../src/rules/globs.ts";
import { MAX_PATH_CHARACTERS } from "../../src/text/path-readings.ts";
import { within } from "../../src/rules/paths.ts";
import { loadCases } from "../support/cases.ts";
import { runs } from "../support/runs.ts";

const uriCases = loadCases().filter(({ setup }) => /allow only file:|must be under/.test(String(setup?.["policy"])));

test("there are cases about links and paths", () => {
  expect(uriCases).toHaveLength(17);
});

test.each(uriCases)("$name: $verdict", ({ bytes, verdict }) => {
  const { params } = JSON.parse(bytes.toString()) as { params: { uri?: string; arguments?: { path: string } } };
  const text = params.uri ?? params.arguments?.path ?? "";
  expect(within(["file:///data"])(text)).toBe(verdict === "forward");
  expect(within(["/data"])(text)).toBe(verdict === "forward");
});

test.each([
  // the plain ones
  ["/data", "/data"],
  ["/data", "/data/"],
  ["/data", "/data/a/b.txt"],
  ["/data/", "/data/a"],
  ["/data", "/data//a/./b/../c"],
  ["/data", "/etc/../data/a"],
  ["/data", "/../../data/a"],
  ["/data", "/data/100%.txt"],
  ["/data", "/data/a;b c'd[1].txt"],
  ["/data", "/data/é/日本.txt"],
  ["/", "/anything"],
  ["/my files", "file:///my%20files/a"],
  ["file:///my%20files", "/my files/a"],
  // links to files
  ["/data", "file:///data/a%20b.txt"],
  ["/data", "file:/data/a"],
  ["/data", "FILE://LOCALHOST/data/a"],
  ["file://server/share", "file://SERVER/share/x"],
  // drives
  ["C:\\work", "c:/Work/a"],
  ["C:/work", "file:///C:/work/a"],
  ["C:/work", "file:///c%3A/work/a"],
  ["C:\\", "C:\\a\\..\\b"],
  // other links
  ["https://example.com/docs", "HTTPS://Example.com:443/docs/a?x=1#y"],
  ["repo://owner/name", "repo://owner/name/file"],
  // where the server is
  [".", "a/b"],
  ["src", "src/a/../b"],
  ["./src", "src"],
])("below %s is %s", (root, text) => {
  expect(within([root])(text)).toBe(true);
  expect(within(["/elsewhere", root])(text)).toBe(true);
});

test.each([
  ["/data", ""],
  ["/data", "/"],
  ["/data", "/dat"],
  ["/data", "/data-secret/a"],
  ["/data", "/DATA/a"],
  ["/data", "data/a"],
  ["/data", "~/data"],
  ["/data", "/data/../etc"],
  ["/data", "/data/../../data/../etc"],
  ["/data", "/data/%2e%2e/etc"],
  ["/data", "/data/%2E%2e%2fetc"],
  ["/data", "/data/%252e%252e/etc"],
  ["/data", "/data/%25252e%25252e/etc"],
  ["/data", "/data/%2525252525252e/etc"],
  ["/data", "/data/..%5cetc"],
  ["/data", "/data/..\\etc"],
  ["/data", "\\data\\..\\etc"],
  ["/data", "/data/..;/etc"],
  ["/data", "/data/..;x=1/etc"],
  ["/data", "/data/.. /etc"],
  ["/data", "/data/... /etc"],
  ["/data", "/data/..:x/etc"],
  ["/data", "/data/..::$INDEX_ALLOCATION/etc"],
  ["/data", "/data/\uff0e\uff0e/etc"],
  ["/data", "/data/\u2025/etc"],
  ["/data", "/data/%ef%bc%8e%ef%bc%8e/etc"],
  ["/data", "/data/..\uff0fetc"],
  ["/data", "/data/..\u2215etc"],
  ["/data", "/data/..\u00a5etc"],
  ["/data", "/data/.\u200b./etc"],
  ["/data", "/data/.\u{e0001}./etc"],
  ["/data", "/data/a\0.png"],
  ["/data", "/data/a%00.png"],
  ["/data", "/data/a%2500.png"],
  ["/data", "/data/\t../etc"],
  ["/data", "/data/a\u0085"],
  ["/data", "/data/\ud800"],
  ["/data", "//data/a"],
  ["/data", "\\\\data\\a"],
  ["/data", "\\\\?\\C:\\data"],
  ["/data", "/%2fdata/a"],
  ["/data", "file://data/a"],
  ["/data", "file:////data/a"],
  ["/data", "file:data/a"],
  ["/data", "file:///data/a?x"],
  ["/data", "file:///data/a#/../../etc"],
  ["/data", "file:///data/%zz"],
  ["/data", "file:///data/%ff"],
  ["/data", "file://user@localhost/data/a"],
  ["/data", "file://localhost:80/data/a"],
  ["/data", "file:\\\\\\data\\a"],
  ["/data", "https://localhost/data/a"],
  ["/data", "data:text/plain,/data/a"],
  ["/data", `/data/${"a".repeat(MAX_PATH_CHARACTERS)}`],
  ["/data", "/etc/x%2f..%2f..%2fdata/a"],
  ["C:\\work", "D:\\work\\a"],
  ["C:\\work", "C:work\\a"],
  ["C:\\work", "C:\\work\\..\\x"],
  ["C:\\work", "/C:/work/a"],
  ["C:\\work", "/work/a"],
  ["/work", "C:\\work\\a"],
  ["https://example.com/docs", "http://example.com/docs/a"],
  ["https://example.com/docs", "https://example.com/docs/../a"],
  ["https://example.com/docs", "https://example.com:444/docs/a"],
  ["https://example.com/docs", "https://user@example.com/docs/a"],
  ["https://example.com/docs", "https://evil.com\\@example.com/docs/a"],
  ["https://example.com/docs", "https://example.com%2eevil.com/docs/a"],
  ["https://example.com/docs", "https://example.com.evil.com/docs/a"],
  ["src", "/src/a"],
  ["src", "src/../../x"],
  ["src", "../src/a"],
  [".", ".."],
  [".", "~root/x"],
  [".", "a%2f..%2f..%2fx"],
  ["/data;v1", "/data/x"],
  ["/da\u2215ta", "/da/ta/x"],
])("not below %s is %s", (root, text) => {
  expect(within([root])(text)).toBe(false);
});

const segment = fc.constantFrom("data", "a", "b.txt", "..", ".", "", "etc", "x y", "é");

test("a plain path is below a root exactly when a resolved path is", () => {
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 8 }), (segments) => {
      const path = `/${segments.join("/")}`;
      const resolved = posix.resolve(path);
      const wanted = !path.startsWith("//") && (resolved === "/data" || resolved.startsWith("/data/"));
      expect(within(["/data"])(path)).toBe(wanted);
    }),
    { numRuns: runs(1000) },
  );
});

test("a link is never below a root where the path that a URL parser reads in it is not", () => {
  const odd = fc.constantFrom(
    "%2e",
    ".",
    "%2E%2e",
    "..",
    "%2f",
    "%5c",
    "\\",
    "data",
    "/",
    "a",
    "%25",
    "2e",
    ";",
    "%20",
    "é",
    "．",
  );
  fc.assert(
    fc.property(fc.array(odd, { maxLength: 10 }), (pieces) => {
      const uri = `file:///data/${pieces.join("")}`;
      if (!within(["/data"])(uri)) return;
      const path = decodeURIComponent(new URL(uri).pathname);
      expect(posix.resolve(path) === "/data" || posix.resolve(path).startsWith("/data/")).toBe(true);
    }),
    { numRuns: runs(3000) },
  );
});

test("a dot that is an escape is a dot to a URL parser, also where an escaped backslash stays one", () => {
  const uri = String.raw`file:///data/%2e%2e\%5cdata`;
  expect(new URL(uri).pathname).toBe("/%5cdata");
  expect(within(["/data"])(uri)).toBe(false);
});

test("a link that Node writes for a file is below the folder of the file", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z %#?é&+-]*[a-z]$/), { minLength: 1, maxLength: 4 }), (names) => {
      const path = `/data/${names.join("/")}`;
      if (/%[0-9a-f]{2}/.test(path)) return; // a name that itself looks encoded is read in two ways
      expect(within(["/data"])(pathToFileURL(path).href)).toBe(true);
    }),
  );
});

test.each([
  ["*.key", "/data/a.key", true],
  ["*.key", "file:///data/a.KEY", true],
  ["*.key", "/data/a.key.txt", false],
  ["*.key", "/data.key/a", false],
  ["*.key", "/data/a.key.", true],
  ["*.key", "/data/a.key::$DATA", true],
  ["*.key", "/data/a.key;v=1", true],
  ["*.key", "/data/a.k%65y", true],
  ["*.key", "/data/a.k%2565y", true],
  ["*.key", "/data/a.\uff4bey", true],
  ["*.key", "/data/a.key\0.txt", true],
  ["*.key", "https://example.com/a.key?download=1", true],
  ["id_rsa", "/home/x/.ssh/id_rsa", true],
  ["id_?sa", "/home/x/.ssh/id_dsa", true],
  ["id_rsa", "/home/my_id_rsa", false],
  ["**/secret/**", "/a/secret/b/c", true],
  ["**/secret/**", "/secret/b", true],
  ["**/secret/**", "/a/mysecret/b", false],
  ["/etc/*", "/etc/passwd", true],
  ["/etc/*", "/etc/ssh/key", false],
  ["/etc/**", "/data/../etc/ssh/key", true],
  [".ssh/*", "/home/x/.ssh/config", true],
  ["*", "/a/b", true],
])("%s and %s: %s", (pattern, text, isMatch) => {
  expect(matchesGlob([pattern])(text)).toBe(isMatch);
  expect(matchesGlob(["nothing", pattern])(text)).toBe(isMatch);
});

test("a pattern full of stars takes no longer than it is long", () => {
  const began = performance.now();
  expect(matchesGlob(["*a".repeat(200)])(`/${"a".repeat(199)}b`)).toBe(false);
  expect(performance.now() - began).toBeLessThan(1000);
});
