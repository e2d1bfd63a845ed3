// oxlint-disable unicorn/consistent-function-scoping -- each helper stands beside the one test that uses it
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ProxyError } from "../../src/errors.ts";
import { createMessageQueue } from "../../src/bridge/message-queue.ts";
import { readTime } from "../../src/cli/settings.ts";
import { readGrant } from "../../src/login/grant.ts";
import { type Memory, openStore } from "../../src/login/store.ts";
import { createCanonicalWriter } from "../../src/message/canonical-writer.ts";
import { describeMember } from "../../src/config/input-schema.ts";
import { checkSchema } from "../../src/policy/results/schema-check.ts";
import type { Json } from "../../src/message/json.ts";
import { readPlace } from "../../src/text/path-readings.ts";
import { isSecretMember } from "../../src/rules/sensitive/credentials.ts";
import { expandBraces } from "../../src/rules/touches/braces.ts";
import { createTouchTest, MAX_TOUCH_STEPS } from "../../src/rules/touches/touches.ts";
import { readLines } from "../../src/record/audit/reader.ts";
import { openLockFile } from "../../src/record/pins/lock-file.ts";
import { composeParamHeaders } from "../../src/session/param-headers.ts";
import { complaints, withRule } from "../config/reading.ts";

// Bounds of functions that take a value and return one: what is at the bound, and one more.

const folder = mkdtempSync(join(tmpdir(), "fairlead-edges-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Something inside of something, so many times. */
function nest<T>(depth: number, inner: T, wrap: (inside: T) => T): T {
  let value = inner;
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
}

describe("what is kept and read", () => {
  test("MAX_QUEUED and MAX_QUEUED_BYTES: 100 messages wait for a stream, and a megabyte of them", () => {
    const many = createMessageQueue();
    for (let nth = 0; nth < 100; nth++) expect(many.add(Buffer.from("x"))).toBe(true);
    expect(many.add(Buffer.from("x"))).toBe(false);
    const large = createMessageQueue();
    expect([large.add(Buffer.alloc(1_048_577)), large.add(Buffer.alloc(1_048_576))]).toEqual([false, true]);
    expect(large.add(Buffer.from("x"))).toBe(false);
  });

  test("MAX_TOKEN: a token of 16 kB is taken, and a longer one is refused", () => {
    const grant = (length: number): unknown =>
      readGrant({ access_token: "t".repeat(length), token_type: "bearer" }, [], "login", 0);
    expect(grant(16_384)).toMatchObject({ accessToken: "t".repeat(16_384) });
    expect(() => grant(16_385)).toThrow(/Login failed|token/);
  });

  test("MAX_FILE_BYTES of a file of logins: a megabyte is read, and a larger one counts as empty", () => {
    const directory = join(folder, "logins");
    const store = openStore(directory, "https://a.example");
    const client = { id: "x", secret: null, scopes: [], expiresAt: null } as unknown as Memory["client"];
    const memory = { server: "https://a.example", issuer: "x", isGuessed: false, resource: null, client, grant: null };
    store.write(memory);
    const [name] = readdirSync(directory);
    const text = JSON.stringify({ version: 1, ...memory });
    writeFileSync(join(directory, name), text.padEnd(1_048_576));
    expect(store.read()).toMatchObject({ server: "https://a.example" });
    writeFileSync(join(directory, name), text.padEnd(1_048_577));
    expect(store.read()).toBeNull();
  });

  test("MAX_FILE_BYTES of a lock file: 64 MB are read, and a larger file is refused for its size", () => {
    const path = join(folder, "lock");
    const complaint = (bytes: number): unknown => {
      writeFileSync(path, "");
      truncateSync(path, bytes);
      try {
        return openLockFile(path).read("x");
      } catch (error) {
        return (error as ProxyError).remedy;
      }
    };
    expect(complaint(64 * 1024 * 1024)).not.toMatch(/too large/);
    expect(complaint(64 * 1024 * 1024 + 1)).toMatch(/too large/);
  });

  test("MAX_LINE_BYTES of an audit log: a line under a megabyte is read, and a longer one is only measured", () => {
    const path = join(folder, "audit");
    const read = (length: number): readonly [boolean, number][] => {
      writeFileSync(path, `${"x".repeat(length)}\nnext\n`);
      const lines: [boolean, number][] = [];
      readLines(path, ({ text, bytes }) => void lines.push([text !== null, bytes]));
      return lines;
    };
    const next = [true, 4];
    expect(read(1_048_575)).toEqual([[true, 1_048_575], next]);
    expect(read(1_048_576)).toEqual([[false, 1_048_576], next]);
  });

  test("MAX_TIMER_MS of the command line: the longest time that timers know, and no longer one", () => {
    const time = (text: string): number | undefined =>
      readTime({ words: [], rest: null, values: new Map([["drain", [text]]]), typed: [] }, "drain");
    expect(time("2147483647ms")).toBe(2 ** 31 - 1);
    expect(() => time("2147483648ms")).toThrow(/Not a positive duration/);
  });
});

describe("how deep something is looked into", () => {
  test("MAX_DEPTH of param headers: an argument 17 levels down has its header, and a deeper one has not", () => {
    const compose = (depth: number): string => {
      const schema = nest<object>(depth - 1, { "x-mcp-header": "Deep" }, (inside) => ({ properties: { a: inside } }));
      const definition = Buffer.from(JSON.stringify({ inputSchema: { properties: { a: schema } } }));
      const bytes = Buffer.from(JSON.stringify(nest<unknown>(depth, "x", (inside) => ({ a: inside }))));
      return composeParamHeaders(definition, bytes, { start: 0, end: bytes.length });
    };
    expect([compose(17), compose(18)]).toEqual(["Mcp-Param-Deep: x\r\n", ""]);
  });

  test("MAX_SCHEMA_DEPTH: a schema of 256 levels is followed, and one of 257 is not", () => {
    const fit = (depth: number): string =>
      checkSchema(
        nest<Json>(depth, { type: "string" }, (inside) => ({ allOf: [inside] })),
        1,
      ).fit;
    expect([fit(256), fit(257)]).toEqual(["no", "unsure"]);
  });

  test("MAX_DEPTH of a tool's schema: a field 31 levels down is compared, and a deeper one could be anything", () => {
    const describeAt = (depth: number): unknown =>
      describeMember(
        nest<object>(depth, { type: "string" }, (inside) => ({ properties: { a: inside } })),
        Array(depth).fill("a"),
      );
    expect([describeAt(31), describeAt(32)]).toEqual([{ types: new Set(["string"]) }, { types: null }]);
  });

  test("MAX_METHOD_CHARACTERS: a method of 128 characters is compared with those of the protocol, and a longer one is not", () => {
    const isNear = (length: number): boolean =>
      complaints(withRule(`[{ method_equals: "tools/call${"/".repeat(length - 10)}" }]`)).some((line) =>
        line.includes("Write tools/call"),
      );
    expect([isNear(128), isNear(129)]).toEqual([true, false]);
  });
});

describe("paths and secrets", () => {
  test("MAX_DECODINGS of a path: one that is encoded four times is read, and one more could be about anything", () => {
    const encoded = (times: number): string => `/a/%${"25".repeat(times - 1)}41`;
    expect([readPlace(encoded(4)) === null, readPlace(encoded(5)) === null]).toEqual([false, true]);
  });

  test("MAX_ROUNDS of decoding: escapes inside of escapes are resolved four times, and with more it counts as touched", () => {
    const look = (text: string): unknown => createTouchTest(["/etc"], [])({ left: MAX_TOUCH_STEPS }).look(text, true);
    const escape = (times: number): string =>
      nest(times, "b", (inside) => Array.from(inside, (each) => `\\x${each.charCodeAt(0).toString(16)}`).join(""));
    expect(look(`/a/${escape(2)}`)).toBeNull();
    expect(look(`/a/${escape(6)}`)).toMatchObject({ doubt: expect.any(String) as string });
  });

  test("MAX_ALTERNATIVES and MAX_CHARACTERS of braces: 64 alternatives are written out, of a word of 4,096 characters", () => {
    const braces = (count: number): string => `{${Array.from({ length: count }, (_, nth) => nth).join(",")}}`;
    expect([expandBraces(braces(64))?.length, expandBraces(braces(65))]).toEqual([64, null]);
    const word = (length: number): string => "{a,b}".padEnd(length, "x");
    expect([expandBraces(word(4096))?.length, expandBraces(word(4097))]).toEqual([2, null]);
  });

  test("MAX_SKIPPED: four names before a path on another machine are skipped, and no more", () => {
    const isFound = (names: number): boolean =>
      createTouchTest(["/etc"], [])({ left: MAX_TOUCH_STEPS }).look(`//${"a/".repeat(names)}etc/x`, true) !== null;
    expect([isFound(4), isFound(5)]).toEqual([true, false]);
  });

  test("MAX_PASSWORD_CHARACTERS: a password has 200 characters at the most", () => {
    const isSecret = (length: number): boolean => isSecretMember("password", "password", "p4".padEnd(length, "x"));
    expect([isSecret(200), isSecret(201)]).toEqual([true, false]);
  });

  test("MAX_CANONICAL_BYTES: the canonical text of a value has 128 MB at the most", () => {
    const compose = (size: number): number => {
      const writer = createCanonicalWriter(Buffer.allocUnsafe(size), 0, () => {});
      writer.copy(0, size);
      return writer.end().length;
    };
    expect(compose(128 * 1024 * 1024)).toBe(128 * 1024 * 1024);
    expect(() => compose(128 * 1024 * 1024 + 1)).toThrow(/too many digits/);
  });
});
