import { expect, test } from "vitest";
import { createCacheStore, identityScope, sessionScope, SHARED_SCOPE } from "../../../src/policy/rules/store.ts";

function store(options: { maxEntries?: number; maxBytes?: number; maxEntryBytes?: number } = {}) {
  const clock = { time: 0 };
  const made = createCacheStore({
    maxEntries: 10,
    maxBytes: 10_000,
    maxEntryBytes: 5000,
    now: () => clock.time,
    ...options,
  });
  return { clock, cache: made };
}

const ANSWER = Buffer.from('{"tools":[]}');

test("what is kept is found until its time is over", () => {
  const { clock, cache } = store();
  expect(cache.set(SHARED_SCOPE, "k", ANSWER, 100)).toBe(true);
  clock.time = 99;
  expect(cache.get(SHARED_SCOPE, "k")).toEqual(ANSWER);
  clock.time = 100;
  expect(cache.get(SHARED_SCOPE, "k")).toBeUndefined();
  expect([cache.size, cache.bytes]).toEqual([0, 0]);
});

test("nobody finds what was kept for another", () => {
  const { cache } = store();
  cache.set(sessionScope("1"), "k", ANSWER, 100);
  for (const scope of [sessionScope("2"), identityScope("1"), SHARED_SCOPE, ""])
    expect(cache.get(scope, "k")).toBeUndefined();
  cache.set(sessionScope("a"), "bk", ANSWER, 100);
  expect(cache.get(sessionScope("ab"), "k")).toBeUndefined();
  cache.forget(sessionScope("1"));
  expect(cache.get(sessionScope("1"), "k")).toBeUndefined();
  expect(cache.get(sessionScope("a"), "bk")).toEqual(ANSWER);
});

test("what is kept is a copy, and not what it was cut from", () => {
  const { cache } = store();
  const bytes = Buffer.from(ANSWER);
  cache.set(SHARED_SCOPE, "k", bytes.subarray(0, 5), 100);
  bytes.fill(0);
  expect(cache.get(SHARED_SCOPE, "k")?.toString()).toBe('{"too');
});

test("the store has bounds, and what was asked for least lately goes first", () => {
  const { cache } = store({ maxEntries: 2 });
  cache.set(SHARED_SCOPE, "a", ANSWER, 100);
  cache.set(SHARED_SCOPE, "b", ANSWER, 100);
  cache.get(SHARED_SCOPE, "a");
  cache.set(SHARED_SCOPE, "c", ANSWER, 100);
  expect(["a", "b", "c"].map((key) => cache.get(SHARED_SCOPE, key) !== undefined)).toEqual([true, false, true]);
  const { cache: small } = store({ maxBytes: 2000 });
  expect(small.set(SHARED_SCOPE, "large", Buffer.alloc(2000), 100)).toBe(false);
  for (let nth = 0; nth < 5; nth++) small.set(SHARED_SCOPE, String(nth), Buffer.alloc(600), 100);
  expect([small.size, small.bytes <= 2000]).toEqual([3, true]);
  expect(store({ maxEntryBytes: 100 }).cache.set(SHARED_SCOPE, "k", Buffer.alloc(100), 100)).toBe(false);
});

test("what is kept anew replaces what was kept, and what is not kept forgets it", () => {
  const { cache } = store();
  cache.set(SHARED_SCOPE, "k", ANSWER, 100);
  cache.set(SHARED_SCOPE, "k", Buffer.from("{}"), 100);
  expect(cache.get(SHARED_SCOPE, "k")?.toString()).toBe("{}");
  expect(cache.set(SHARED_SCOPE, "k", Buffer.alloc(6000), 100)).toBe(false);
  expect(cache.get(SHARED_SCOPE, "k")).toBeUndefined();
  expect(cache.bytes).toBe(0);
});
