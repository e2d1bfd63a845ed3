import { expect, test } from "vitest";
import {
  innerOfParams,
  innerOfResult,
  type InnerMessages,
  MAX_INNER_MESSAGES,
  startedTask,
} from "../../src/rules/inner.ts";
import { loadCases } from "../support/cases.ts";
import { part } from "./support.ts";

/** The same with the text of what stands at each place. */
function shown(bytes: Buffer, inner: InnerMessages): unknown {
  if (inner === "unclear") return inner;
  return inner.map((message) =>
    Object.fromEntries(
      Object.entries(message).map(([name, value]) => [
        name,
        value !== null && typeof value === "object" ? bytes.toString("utf8", value.start, value.end) : value,
      ]),
    ),
  );
}

function inResult(value: unknown, method: string, taskId: string | null = null): unknown {
  const whole = part(value);
  return shown(whole.bytes, innerOfResult(whole.bytes, whole, method, taskId));
}

function inParams(value: unknown, method: string): unknown {
  const whole = part(value);
  return shown(whole.bytes, innerOfParams(whole.bytes, whole, method));
}

test("what a server asks in the middle of a call is a request of its own", () => {
  const result = {
    resultType: "input_required",
    requestState: "x",
    inputRequests: {
      a: { method: "sampling/createMessage", params: { maxTokens: 1 } },
      b: { method: "elicitation/create", params: { mode: "url" } },
      c: { method: "roots/list" },
    },
  };
  const wanted = [
    { kind: "request", key: "a", method: "sampling/createMessage", params: '{"maxTokens":1}' },
    { kind: "request", key: "b", method: "elicitation/create", params: '{"mode":"url"}' },
    { kind: "request", key: "c", method: "roots/list", params: null },
  ];
  expect(inResult(result, "tools/call")).toEqual(wanted);
  expect(inResult({ ...result, resultType: "complete" }, "prompts/get")).toEqual(wanted);
  expect(
    inResult({ taskId: "t", status: "input_required", inputRequests: result.inputRequests }, "tasks/get", "t"),
  ).toEqual(wanted);
});

test("a plain result has nothing inside", () => {
  expect(inResult({ content: [], result: { inputRequests: {} } }, "tools/call")).toEqual([]);
  expect(inResult([1], "tools/call")).toEqual([]);
  expect(inResult({ inputRequests: [1] }, "tools/call")).toEqual([]);
});

test("how a task ended is what its call would have been answered", () => {
  expect(inResult({ taskId: "other", status: "completed", result: { content: [] } }, "tasks/get", "t")).toEqual([
    { kind: "result", taskId: "t", result: '{"content":[]}' },
  ]);
  expect(inResult({ taskId: "t", status: "failed", error: { code: 1 } }, "tasks/get", "t")).toEqual([
    { kind: "error", taskId: "t", error: '{"code":1}' },
  ]);
  expect(inResult({ content: [] }, "tasks/result", "t")).toEqual([
    { kind: "result", taskId: "t", result: '{"content":[]}' },
  ]);
  expect(inParams({ taskId: "t", status: "completed", result: {} }, "notifications/tasks")).toEqual([
    { kind: "result", taskId: "t", result: "{}" },
  ]);
});

test("the case of a task's result that gets by rules for calls is seen", () => {
  const found = loadCases().find(({ name }) => name === "task-result-bypass");
  const { result } = JSON.parse(String(found?.bytes)) as { result: unknown };
  expect(inResult(result, "tasks/get", "t1")).toMatchObject([
    { kind: "result", result: expect.stringContaining("AKIA") },
  ]);
});

test("what a client answers is found in the request that takes the call up again", () => {
  expect(inParams({ name: "x", inputResponses: { a: { action: "accept" }, b: 5 } }, "tools/call")).toEqual([
    { kind: "response", key: "a", result: '{"action":"accept"}' },
    { kind: "response", key: "b", result: "5" },
  ]);
  expect(inParams({ name: "x" }, "tools/call")).toEqual([]);
});

test("what peers could read in different ways is not clear, and neither is too much", () => {
  const request = { method: "sampling/createMessage" };
  expect(inResult({ InputRequests: { a: request } }, "tools/call")).toBe("unclear");
  expect(inResult({ "input\u200bRequests": { a: request } }, "tools/call")).toBe("unclear");
  expect(
    inResult({ inputRequests: { a: { Method: "sampling/createMessage", method: "roots/list" } } }, "tools/call"),
  ).toBe("unclear");
  expect(inResult({ Result: {} }, "tasks/get", "t")).toBe("unclear");
  expect(inResult({ Result: {} }, "tools/call")).toEqual([]);
  const many = Object.fromEntries(Array.from({ length: MAX_INNER_MESSAGES + 1 }, (_, nth) => [`k${nth}`, request]));
  expect(inResult({ inputRequests: many }, "tools/call")).toBe("unclear");
  expect(inParams({ inputResponses: many }, "tools/call")).toBe("unclear");
});

function started(value: unknown): string | null {
  const whole = part(value);
  return startedTask(whole.bytes, whole);
}

test("a result that starts a task says which, in either revision", () => {
  expect(started({ task: { taskId: "t1", status: "working" } })).toBe("t1");
  expect(started({ resultType: "task", taskId: "t2" })).toBe("t2");
  expect(started({ taskId: "t3" })).toBeNull();
  expect(started({ content: [] })).toBeNull();
});
