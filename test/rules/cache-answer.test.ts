import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAnswerCache } from "../../src/store/answers.ts";
import {
  cacheKey,
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
    [open('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}'), "it is no result"],
    [open("nonsense"), "it is no result"],
    [result("[]"), "its result is no object"],
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
  test("tells everything apart that makes an answer another one", () => {
    const parts: Partial<CacheQuestion>[] = [
      {},
      { key: "other" },
      { rule: "other" },
      { scope: "shared" },
      { server: "other" },
      { era: "stateless" },
      { method: "other" },
      { subject: "other" },
      { subject: null },
      { audience: "other" },
    ];
    const keys = parts.map((part) => cacheKey({ ...QUESTION, ...part }));
    expect(new Set(keys).size).toBe(parts.length);
  });

  test("is everybody's only where it was said so", () => {
    const mine = { ...QUESTION, scope: "shared" } as const;
    expect(cacheKey({ ...mine, audience: "other" })).toBe(cacheKey(mine));
    expect(cacheKey({ ...mine, audience: null })).toBe(cacheKey(mine));
    expect(cacheKey({ ...QUESTION, audience: null })).toBeNull();
  });

  test("cannot be put together in two ways", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (key, subject, otherKey, otherSubject) => {
        fc.pre(key !== otherKey || subject !== otherSubject);
        expect(cacheKey({ ...QUESTION, key, subject })).not.toBe(
          cacheKey({ ...QUESTION, key: otherKey, subject: otherSubject }),
        );
      }),
    );
    expect(cacheKey({ ...QUESTION, key: '","x' })).not.toBe(cacheKey({ ...QUESTION, key: "", subject: 't","x' }));
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

const answer = (size: number, ttlMs: number | null = null): CachedAnswer => ({
  result: Buffer.alloc(size),
  ttlMs,
  isPrivate: false,
});

describe("a cache", () => {
  test("keeps an answer until its time is over, the rule's or the server's", () => {
    let time = 0;
    const cache = createAnswerCache({ now: () => time });
    cache.keep("rule", answer(1), 100);
    cache.keep("server", answer(1, 50), 100);
    time = 49;
    expect(cache.find("server")).toMatchObject({ ageMs: 49 });
    time = 50;
    expect(cache.find("server")).toBeUndefined();
    time = 99;
    expect(cache.find("rule")).toMatchObject({ ageMs: 99 });
    time = 100;
    expect(cache.find("rule")).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  test("has an end, and what was not asked for longest goes first", () => {
    const cache = createAnswerCache({ now: () => 0, maxBytes: 10_000, maxEntries: 3 });
    for (const key of ["a", "b", "c"]) cache.keep(key, answer(100), 1);
    cache.find("a");
    cache.keep("d", answer(100), 1);
    expect(["a", "b", "c", "d"].filter((key) => cache.find(key) !== undefined)).toEqual(["a", "c", "d"]);
    cache.keep("huge", answer(9000), 1);
    expect(cache.find("huge")).toBeUndefined();
    cache.keep("a", answer(200), 1);
    expect(cache.bytes).toBe(3 * 300 + 400);
    cache.clear();
    expect(cache.bytes).toBe(0);
  });

  test("is never larger than it may be, and never counts wrong", () => {
    const step = fc.record({
      key: fc.constantFrom("a", "b", "c", "d", "e"),
      size: fc.nat(1500),
      ttl: fc.nat(20),
      time: fc.nat(5),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let time = 0;
        const cache = createAnswerCache({ now: () => time, maxBytes: 5000, maxEntries: 4 });
        for (const { key, size, ttl, time: passed } of steps) {
          time += passed;
          const found = cache.find(key);
          if (found !== undefined) expect(found.ageMs).toBeLessThan(20);
          cache.keep(key, answer(size), ttl);
          expect(cache.bytes).toBeLessThanOrEqual(5000);
        }
        time += 1000;
        for (const key of ["a", "b", "c", "d", "e"]) expect(cache.find(key)).toBeUndefined();
        expect(cache.bytes).toBe(0);
      }),
    );
  });
});
