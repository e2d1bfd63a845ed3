import { posix } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNameFilter, HANGS, NOT_READABLE, readName } from "../../../src/policy/names/name-filter.ts";
import { readUri } from "../../../src/policy/names/uri-readings.ts";
import { parsePattern } from "../../../src/policy/patterns.ts";
import { NOT_ALLOWED } from "../../../src/policy/tool-filter.ts";
import { runs } from "../../support/runs.ts";

function filter(read: typeof readName, deny: string[], allow: string[] = [], onHang?: (pattern: string) => void) {
  return createNameFilter({
    deny: deny.map((pattern) => parsePattern(pattern, "deny")),
    allow: allow.map((pattern) => parsePattern(pattern, "allow")),
    read,
    ...(onHang === undefined ? {} : { onHang }),
  });
}

const isHidden = (text: string, deny: string[], allow?: string[], read = readUri): boolean =>
  filter(read, deny, allow).hiddenBy([text])[0] !== null;

describe("names of prompts", () => {
  test.each(["deploy", "Deploy", "DEPLOY", "ｄeploy", "de\u200bploy", " deploy", "deploy\u{e0041}"])(
    "what a careless server takes for a denied one is denied: %j",
    (name) => expect(isHidden(name, ["^deploy$"], [], readName)).toBe(true),
  );

  test.each(["deploys", "undeploy", "greet"])("others are not: %j", (name) => {
    expect(isHidden(name, ["^deploy$"], [], readName)).toBe(false);
  });

  test("what is allowed is allowed as it is spelled", () => {
    const { hiddenBy } = filter(readName, [], ["^[A-Z]", "^[^A-Z]+_ok$"]);
    expect(hiddenBy(["Greet", "greet", "é_ok", "is_ok", "Ａx"])).toEqual([null, NOT_ALLOWED, null, null, NOT_ALLOWED]);
  });

  test("deny wins, and says which pattern", () => {
    expect(filter(readName, ["^a"], ["^a", "^b"]).hiddenBy(["ab", "ba", "c"])).toEqual(["^a", null, NOT_ALLOWED]);
  });

  test("a name outside ASCII that is too long to be compared is hidden", () => {
    expect(filter(readName, ["^deploy$"]).hiddenBy(["é".repeat(129), "é".repeat(128)])).toEqual([NOT_READABLE, null]);
  });
});

describe("links of resources", () => {
  const SECRET = "^file:///data/secret/";

  test.each([
    "file:///data/secret/key",
    "FILE:///data/secret/key",
    "file://localhost/data/secret/key",
    "file://elsewhere/data/secret/key",
    "file:///data/SECRET/key",
    "file:///data/./secret//key",
    "file:///data/public/../secret/key",
    "file:///data/public/%2e%2e/secret/key",
    "file:///data/public/%252e%252e/secret/key",
    "file:///data/%73ecret/key",
    "file:///data/%2573ecret/key",
    "file:///data%2fsecret%2fkey",
    "file:///data\\secret\\key",
    "file:///data/public/..%5csecret/key",
    "file:///data/public/..;/secret/key",
    "file:///data/ｓecret/key",
    "file:///data/se\u200bcret/key",
    "file:///data/secret",
    "/data/secret/key",
    "file:/data/secret/key",
    " file:///data/public/../secret/key",
    "\u200bfile:///data/public/../secret/key",
    "file:///data/pub\u200blic/../secret/key",
    "ｆile:///data/public/../secret/key",
    "%66ile:///data/public/../secret/key",
    "file%3A///data/public/%2e%2e/secret/key",
    "file:%2F%2F%2Fdata/public/../secret/key",
  ])("a denied one is denied in every reading: %s", (uri) => expect(isHidden(uri, [SECRET])).toBe(true));

  test.each([
    "file:///data/secrets/key",
    "file:///data/public/secret/key",
    "file:///data/public/a%20b.txt",
    "note:///secret",
    "demo://resource/static/document/features.md",
    "https://example.com/data/secret/key?x=1",
    "urn:isbn:0451450523",
    "postgres://reader@db.example.com/shop/orders/schema",
    "config",
    "file:///src/C%23/a%3Fb.cs",
  ])("others are not: %s", (uri) => expect(isHidden(uri, [SECRET])).toBe(false));

  test.each([
    ["^http://example\\.com/private/", "HTTP://EXAMPLE.com:80/private/x"],
    ["^http://example\\.com/private/", "http://user:word@example.com/private/x"],
    ["^http://example\\.com/private$", "http://example.com/private?x=1#y"],
    ["^http://example\\.com/private$", "http://example.com/private/"],
    ["token=", "api://x/y?%74oken=1"],
    ["^note:///secret", "note:///public/../secret"],
    ["^note:///secret", "NOTE:///secret"],
    ["^postgres://db/", "postgres://reader@db/shop"],
    ["^file:///my%20files/", "file:///my files/a"],
    ["^file:///my files/", "file:///my%20files/a"],
    ["^file:///C:/work/", "file:///c%3A/WORK/a"],
    ["^urn:isbn:", "URN:ISBN:1"],
    ["^urn:isbn:", "urn:%69sbn:1"],
  ])("denied by %s: %s", (pattern, uri) => expect(isHidden(uri, [pattern])).toBe(true));

  test.each([
    ["a share", "//host/share"],
    ["a home", "~/x"],
    ["a query in the link of a file", "file:///a?x"],
    ["a zero byte", "file:///a%00"],
    ["a line break", "file:///a%0ab"],
    ["bytes that are no text", "file:///a%ff"],
    ["a half character", "note:///\ud800"],
    ["two users", "http://a@b@c/"],
    ["an encoded host", "http://%61/"],
    ["nothing", ""],
    ["encoded for ever", "note:///%2525252525252e"],
    ["more than anybody needs", `note:///${"a".repeat(2048)}`],
  ])("what could be about anything is hidden: %s", (_what, uri) => {
    expect(filter(readUri, ["^never$"]).hiddenBy([uri])).toEqual([NOT_READABLE]);
  });

  test.each([
    ["^file:///public/", "file:///public/a.txt", false],
    ["^file:///public/", "file:///public/a%20b (1).txt", false],
    ["^file:///my%20files/", "file:///my%20files/a", false],
    ["^file:///C:/work/", "file:///C:/work/a", false],
    ["^http://Example\\.com/", "http://Example.com/a", false],
    ["^search://q\\?term=", "search://q?term=a%20b&x=/../y", false],
    ["^urn:isbn:", "urn:isbn:0451450523", false],
    ["^note:///\\{name\\}$", "note:///{name}", false],
    ["^note://alpha$", "note://alpha", false],
    ["^file:///public/readme\\.md$", "file:///public/readme.md", false],
    ["^file:///public/", "file:///public/C%23/a.cs", false],
    ["^file:///public/", "file:///public/%C3%A9/日本.txt", false],
    ["^file:///public/", "file:///public/../etc/passwd", true],
    ["^file:///public/", "file:///public%2f..%2fetc/passwd", true],
    ["^file:///public/", "file:///public/%2e%2e/etc/passwd", true],
    ["^file:///public/", "file:///public/..\\etc\\passwd", true],
    ["^file:///public/", "file:///public/..;a/etc", true],
    ["^file:///public/", "FILE:///public/a", true],
    ["^file:///public/", "file://other/public/a", true],
    ["^http://good\\.com/", "http://good.com/../x", false],
    ["^http://good\\.com", "http://good.com@evil.com/", true],
    ["^postgres://reader@db/", "postgres://reader@db/shop", false],
  ])("where only %s is allowed: %s", (pattern, uri, hidden) => expect(isHidden(uri, [], [pattern])).toBe(hidden));
});

test("whatever a link is made to look like: where it is the denied one to a parser of links, it is denied", () => {
  const step = fc.constantFrom("x/../", "./", "/", "%2e/", "x/%2E%2e/", "x\\\\..\\\\");
  const spelled = fc
    .tuple(
      fc.array(step, { maxLength: 3 }),
      fc.array(fc.nat({ max: 3 }), { minLength: 60, maxLength: 60 }),
      fc.nat({ max: 5 }),
    )
    .map(([steps, coins, prefix]) => {
      const path = `${steps.join("")}data/${steps.join("")}secret/key`;
      const letters = path.match(/%[0-9a-f]{2}|[^]/gi) ?? [];
      const coded = letters
        .map((one, index) => (/^[a-z]$/.test(one) && coins[index] === 0 ? `%${one.charCodeAt(0).toString(16)}` : one))
        .join("");
      return `${["file:///", "FILE:///", " file:///", "file:/", "File://localhost/", "file://x/"][prefix]}${coded}`;
    });
  const { hiddenBy } = filter(readUri, ["^file:///data/secret/key$"]);
  let meant = 0;
  fc.assert(
    fc.property(spelled, (uri) => {
      const { pathname } = new URL(uri);
      const isMeant = posix.normalize(decodeURIComponent(pathname)).replace(/^\/+/, "/") === "/data/secret/key";
      if (isMeant) meant++;
      if (isMeant) expect(hiddenBy([uri])[0]).not.toBeNull();
    }),
    { numRuns: runs(300) },
  );
  expect(meant).toBeGreaterThan(runs(100));
});

test("a pattern that does not end hides what it was run on, and nothing else", () => {
  const hung: string[] = [];
  const { hiddenBy } = filter(readName, ["(a|aa)+$"], [], (pattern) => hung.push(pattern));
  const started = performance.now();
  expect(hiddenBy([`${"a".repeat(60)}!`])).toEqual([HANGS]);
  expect(hiddenBy(["b!"])).toEqual([null]);
  expect(hiddenBy([`${"a".repeat(60)}!`])).toEqual([HANGS]);
  expect(hung).toEqual(["(a|aa)+$"]);
  expect(performance.now() - started).toBeLessThan(4000);
});

test("a thousand links are judged in one go", () => {
  const uris = Array.from({ length: 1000 }, (_, index) => `file:///data/a%20b/${index}.txt`);
  const started = performance.now();
  expect(filter(readUri, ["^file:///secret/"], ["^file:///data/"]).hiddenBy(uris)).toEqual(uris.map(() => null));
  expect(performance.now() - started).toBeLessThan(1500);
});
