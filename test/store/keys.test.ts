import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isSameLimit, keyText, type LimitKey, type StoreKey } from "../../src/store/keys.ts";

/** Any UTF-16, lone surrogates included, and what keys are glued together with. */
const part = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 3 }),
  fc.constantFrom("", "\0", ":", '"', '","', "observe:", "\\", "\ud800", "\ufffd"),
);
const direction = fc.constantFrom("up", "down");
const limit: fc.Arbitrary<LimitKey> = fc.record({
  of: fc.constant("limit"),
  owner: fc.constantFrom("rule", "interceptor"),
  id: part,
  nth: fc.nat(3),
  watching: fc.boolean(),
  key: part,
});
const keys: fc.Arbitrary<StoreKey> = fc.oneof(
  limit,
  fc.record({
    of: fc.constant("answer" as const),
    scope: fc.constantFrom("private" as const, "shared" as const),
    audience: fc.option(part),
    server: part,
    rule: part,
    era: part,
    method: part,
    subject: fc.option(part),
    key: part,
  }),
  fc.record({ of: fc.constant("task" as const), side: direction, scope: part, taskId: part }),
  fc.record({ of: fc.constant("input" as const), scope: part, state: part }),
  fc.record({ of: fc.constant("session" as const), scope: part }),
);

test("two keys have the same text only if they are the same, also as UTF-8", () => {
  fc.assert(
    fc.property(keys, keys, (one, other) => {
      const same = isEqual(one, other);
      expect(keyText(one) === keyText(other)).toBe(same);
      expect(Buffer.from(keyText(one)).equals(Buffer.from(keyText(other)))).toBe(same);
    }),
    { numRuns: 2000 },
  );
});

test("what could be glued together to the same text stays apart", () => {
  const glued: StoreKey[] = [
    { of: "input", scope: "a", state: "bc" },
    { of: "input", scope: "ab", state: "c" },
    { of: "input", scope: 'a","b', state: "c" },
    { of: "session", scope: '","' },
    { of: "session", scope: "\ud800" },
    { of: "session", scope: "\udc00" },
    { of: "session", scope: "\ufffd" },
    { of: "session", scope: "\\ud800" },
    { of: "task", side: "up", scope: "a", taskId: "b" },
    { of: "task", side: "down", scope: "a", taskId: "b" },
  ];
  expect(new Set(glued.map((key) => Buffer.from(keyText(key)).toString("hex"))).size).toBe(glued.length);
});

test("a limit is the same one whether it acts or is watched", () => {
  fc.assert(
    fc.property(limit, limit, (one, other) => {
      const wanted = isEqual({ ...one, watching: false }, { ...other, watching: false });
      expect(isSameLimit(one, other)).toBe(wanted);
      expect(isSameLimit(one, { ...one, watching: !one.watching })).toBe(true);
    }),
  );
});

function parts(key: StoreKey): [string, unknown][] {
  return Object.entries(key).sort(([one], [other]) => (one < other ? -1 : 1));
}

function isEqual(one: StoreKey, other: StoreKey): boolean {
  const [mine, others] = [parts(one), parts(other)];
  return (
    mine.length === others.length &&
    mine.every(([name, value], nth) => others[nth][0] === name && others[nth][1] === value)
  );
}
