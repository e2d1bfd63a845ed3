import { expect, test } from "vitest";
import { type Call, CANCELLED_FOR_MS, createCallTable } from "../../src/session/calls.ts";
import { describeMethod } from "../../src/message/methods.ts";

function call(key: number | string, claim: Call["claim"] = null): Call {
  const method = describeMethod("ping");
  if (method === null) throw new Error("ping is a method");
  const rest = {
    subject: null,
    cursor: null,
    era: "stateful",
    since: 0,
    listVersion: 0,
    parked: false,
    memo: null,
  } as const;
  return { id: { key, quoted: typeof key === "string" ? JSON.stringify(key) : null }, method, claim, ...rest };
}

/** A table and the hands of its clock. */
function table(maxOpenCalls = 10) {
  let clock = 0;
  const calls = createCallTable(maxOpenCalls, () => clock);
  return { calls, wait: (milliseconds: number): void => void (clock += milliseconds) };
}

test("a call is found by its key until it is closed", () => {
  const { calls } = table();
  const one = call(0);
  expect(calls.open(one)).toBe(true);
  expect(calls.find(0)).toBe(one);
  expect(calls.find("0")).toBeUndefined();
  calls.close(one);
  expect(calls.find(0)).toBeUndefined();
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
  expect(calls.find(1)).toBe(second);
});

test("a full table takes no more calls, but for our own", () => {
  const { calls } = table(2);
  expect([1, 2, 3].map((key) => calls.open(call(key)))).toEqual([true, true, false]);
  expect(calls.open(call("own", () => {}))).toBe(true);
  expect(calls.size()).toBe(3);
});

test("a cancelled call is remembered for a minute, and no longer", () => {
  const { calls, wait } = table();
  const one = call(1);
  calls.open(one);
  calls.cancel(one);
  expect(calls.isCancelled(one)).toBe(true);
  expect(calls.waiting()).toEqual([]);
  wait(CANCELLED_FOR_MS - 1);
  expect(calls.find(1)).toBe(one);
  wait(1);
  expect(calls.find(1)).toBeUndefined();
  expect(calls.isCancelled(one)).toBe(false);
});

test("one that is cancelled again does not keep another alive", () => {
  const { calls, wait } = table();
  const [first, second] = [call(1), call(2)];
  calls.open(first);
  calls.open(second);
  calls.cancel(first);
  calls.cancel(second);
  wait(CANCELLED_FOR_MS - 1);
  calls.cancel(first);
  wait(1);
  expect(calls.find(2)).toBeUndefined();
});

test("cancelled calls make room in a full table, the oldest first", () => {
  const { calls, wait } = table(2);
  const [first, second] = [call(1), call(2)];
  calls.open(first);
  calls.open(second);
  calls.cancel(first);
  wait(1);
  calls.cancel(second);
  expect(calls.find(3)).toBeUndefined();
  expect(calls.open(call(3))).toBe(true);
  expect(calls.find(1)).toBeUndefined();
});

test("a call that is not cancelled is never forgotten", () => {
  const { calls, wait } = table();
  const [kept, gone] = [call(1), call(2)];
  calls.open(kept);
  calls.open(gone);
  calls.cancel(gone);
  wait(365 * 24 * 60 * 60 * 1000);
  expect(calls.find(1)).toBe(kept);
  expect(calls.waiting()).toEqual([kept]);
});
