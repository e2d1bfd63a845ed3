import { expect, test } from "vitest";
import { createCallTable } from "../../src/session/calls.ts";
import { type Call, createCall } from "../../src/session/call.ts";
import { describeMethod } from "../../src/message/methods.ts";

function call(key: number | string, claim: Call["claim"] = null): Call {
  const method = describeMethod("ping");
  if (method === null) throw new Error("ping is a method");
  const id = { key, quoted: typeof key === "string" ? JSON.stringify(key) : null };
  return createCall(id, method, null, null, "stateful", 0, 0, claim);
}

/** A table, and how often it said that it is exhausted. */
function table(maxOpenCalls = 10, maxSpentIds = 100) {
  const told = { exhausted: 0 };
  return { calls: createCallTable(maxOpenCalls, () => void told.exhausted++, maxSpentIds), told };
}

test("a call is found by its key until it is closed", () => {
  const { calls } = table();
  const one = call(0);
  expect(calls.open(one)).toBe(true);
  expect(calls.find(0)).toBe(one);
  expect(calls.find("0")).toBeUndefined();
  calls.close(one);
  expect(calls.find(0)).toBeUndefined();
  expect(calls.isSpent(0)).toBe(false);
  expect(calls.size()).toBe(0);
});

test("names of things every object has are ordinary keys", () => {
  const { calls } = table();
  for (const key of ["__proto__", "constructor", "toString"]) {
    expect(calls.find(key)).toBeUndefined();
    calls.open(call(key));
    expect(calls.find(key)?.id.key).toBe(key);
  }
});

test("closing a call that was replaced does not close the other", () => {
  const { calls } = table();
  const [first, second] = [call(1), call(1)];
  calls.open(first);
  calls.close(first);
  calls.open(second);
  calls.close(first);
  calls.abandon(first);
  expect(calls.find(1)).toBe(second);
  expect(calls.isSpent(1)).toBe(false);
});

test("a full table takes no more calls, but for our own", () => {
  const { calls } = table(2);
  expect([1, 2, 3].map((key) => calls.open(call(key)))).toEqual([true, true, false]);
  expect(calls.isFull()).toBe(true);
  expect(calls.open(call("own", () => {}))).toBe(true);
  expect(calls.size()).toBe(3);
});

test("the id of an abandoned call is spent, and the call makes room for another", () => {
  const { calls } = table(1);
  const one = call(1);
  calls.open(one);
  calls.abandon(one);
  expect(calls.find(1)).toBeUndefined();
  expect(calls.isSpent(1)).toBe(true);
  expect(calls.isPending()).toBe(true);
  expect(calls.isFull()).toBe(false);
  expect(calls.waiting()).toEqual([]);
});

test("long ids are spent too, each for itself", () => {
  const { calls } = table();
  const long = `${"x".repeat(1000)}1`;
  calls.open(call(long));
  calls.abandon(calls.find(long) as Call);
  expect(calls.isSpent(long)).toBe(true);
  expect(calls.isSpent(`${"x".repeat(1000)}2`)).toBe(false);
});

test("our own ids are never used again, and are not remembered", () => {
  const { calls } = table();
  const own = call("own", () => {});
  calls.open(own);
  calls.abandon(own);
  expect(calls.isSpent("own")).toBe(false);
});

test("with one spent id more than are remembered the table is exhausted: it says so once and takes no more calls", () => {
  const { calls, told } = table(10, 3);
  const abandon = (key: number): void => {
    const one = call(key);
    calls.open(one);
    calls.abandon(one);
  };
  [1, 2, 3].forEach(abandon);
  expect(told.exhausted).toBe(0);
  expect(calls.isFull()).toBe(false);
  abandon(4);
  abandon(5);
  expect(told.exhausted).toBe(1);
  expect(calls.isFull()).toBe(true);
});

test("a suspended call stays open while there is room, and is then the first to be abandoned", () => {
  const { calls } = table(2);
  const [first, second] = [call(1), call(2)];
  calls.open(first);
  calls.open(second);
  calls.suspend(second);
  calls.suspend(first);
  expect(calls.find(2)).toBe(second);
  expect(calls.isFull()).toBe(false);
  expect(calls.find(2)).toBeUndefined();
  expect(calls.isSpent(2)).toBe(true);
  expect(calls.find(1)).toBe(first);
});

test("a call that was closed cannot be suspended", () => {
  const { calls } = table(1);
  const one = call(1);
  calls.open(one);
  calls.close(one);
  calls.suspend(one);
  calls.open(call(2));
  expect(calls.isFull()).toBe(true);
});
