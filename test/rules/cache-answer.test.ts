import { describe, expect, test } from "vitest";
import {
  answerKey,
  type CacheQuestion,
  keepAnswer,
  refuseToCache,
  resultFromCache,
} from "../../src/rules/cache-answer.ts";
import type { CachedAnswer } from "../../src/store/answers.ts";
import { type Message, openMessage, whole } from "../../src/message/message.ts";

const open = (text: string, direction: "up" | "down" = "down"): Message =>
  openMessage(whole(Buffer.from(text)), direction, "allow");
const result = (text: string): Message => open(`{"jsonrpc":"2.0","id":1,"result":${text}}`);
const request = (method: string, params = "{}"): Message =>
  open(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`, "up");

describe("what may be asked from memory", () => {
  test.each(["tools/list", "tools/call", "resources/read", "prompts/get", "completion/complete", "vendor/method"])(
    "%s",
    (method) => {
      expect(refuseToCache(request(method, method === "tools/call" ? '{"name":"x"}' : "{}"))).toBeNull();
    },
  );

  test.each([
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "subscriptions/listen",
    "tasks/get",
    "tasks/list",
  ])("not %s", (method) => {
    expect(refuseToCache(request(method))).toBe(`${method} does more than ask`);
  });

  test.each([
    [request("tools/call", '{"name":"x","requestState":"s"}'), "it continues what was begun"],
    [request("tools/call", '{"name":"x","inputResponses":{}}'), "it continues what was begun"],
    [request("tools/call", '{"name":"x","task":{"ttl":1}}'), "it begins a task"],
    [open('{"jsonrpc":"2.0","id":1,"method":"roots/list"}', "down"), "only what a client asks for is kept"],
    [open('{"jsonrpc":"2.0","method":"notifications/x"}', "up"), "only what a client asks for is kept"],
    [result("{}"), "only what a client asks for is kept"],
  ])("nor this: %#", (message, why) => {
    expect(refuseToCache(message)).toBe(why);
  });
});

describe("what may be kept", () => {
  test("a result, as it is spelled, on one line and as a copy", () => {
    const message = result('{ "a":\n1.0,"isError" : false,"resultType":"complete" }');
    const kept = keepAnswer(message);
    expect(kept).toEqual({
      result: Buffer.from('{ "a": 1.0,"isError" : false,"resultType":"complete" }'),
      ttlMs: null,
      isPrivate: false,
    });
    message.bytes.fill(0);
    expect((kept as CachedAnswer).result.toString()).toContain('"a"');
  });

  test("with what the server says about it", () => {
    expect(keepAnswer(result('{"ttlMs":5000,"cacheScope":"private"}'))).toMatchObject({ ttlMs: 5000, isPrivate: true });
    expect(keepAnswer(result('{"ttlMs":1.5e3,"cacheScope":"public"}'))).toMatchObject({
      ttlMs: 1500,
      isPrivate: false,
    });
    expect(keepAnswer(result('{"cacheScope":7}'))).toMatchObject({ isPrivate: true });
  });

  test.each([
    [open('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}'), "it is not a result"],
    [open("nonsense"), "it is not a result"],
    [result("[]"), "its result is not an object"],
    [result('{"resultType":"input_required"}'), "it is not complete"],
    [result('{"resultType":7}'), "it is not complete"],
    [result('{"result\\u0054ype":"input_required"}'), "it is not complete"],
    [result('{"isError":true}'), "it says that something went wrong"],
    [result('{"isError":"true"}'), "it says that something went wrong"],
    [result('{"isError":1}'), "it says that something went wrong"],
    [result('{"iserror":true}'), "it can be read in two ways"],
    [result('{"ISERROR":true}'), "it can be read in two ways"],
    [result('{"inputRequests":{}}'), "it asks for more"],
    [result('{"task":{"taskId":"x"}}'), "it says that a task has begun"],
    [result('{"_meta":{"io.modelcontextprotocol/related-task":{}}}'), "it belongs to a task"],
    [result('{"ttlMs":0}'), "it holds for this moment only"],
    [result('{"ttlMs":-1}'), "it holds for this moment only"],
    [result('{"ttlMs":"x"}'), "it holds for this moment only"],
  ])("not this: %#", (message, not) => {
    expect(keepAnswer(message)).toEqual({ not });
  });
});

const QUESTION: CacheQuestion = {
  key: "k",
  rule: "r",
  scope: "private",
  server: "s",
  era: "stateful",
  method: "tools/call",
  subject: "t",
  audience: "jo",
};

describe("the key of an answer", () => {
  test("has all that makes an answer another one", () => {
    expect(answerKey(QUESTION)).toEqual({ of: "answer", ...QUESTION });
  });

  test("is everybody's only where it was said so", () => {
    const shared = { ...QUESTION, scope: "shared" } as const;
    expect(answerKey(shared)).toEqual({ of: "answer", ...shared, audience: null });
    expect(answerKey({ ...shared, audience: null })).toEqual(answerKey(shared));
    expect(answerKey({ ...QUESTION, audience: null })).toBeNull();
  });
});

const kept = (text: string): CachedAnswer => keepAnswer(result(text)) as CachedAnswer;

describe("an answer from memory", () => {
  test("says how long it holds from now on", () => {
    expect(resultFromCache(kept('{"ttlMs" : 5000 ,"a":{"ttlMs":5000}}'), 1234.5).toString()).toBe(
      '{"ttlMs" : 3765 ,"a":{"ttlMs":5000}}',
    );
    expect(resultFromCache(kept('{"ttlMs":5}'), 9).toString()).toContain('"ttlMs":0');
  });
});
