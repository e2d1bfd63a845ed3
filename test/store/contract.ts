import { describe, expect, test } from "vitest";
import type { CachedAnswer } from "../../src/store/answers.ts";
import type { AnswerKey, InputKey, LimitKey, TaskKey } from "../../src/store/keys.ts";
import { OTHERS } from "../../src/store/session-data.ts";
import type { LateParts } from "../support/late-store.ts";

/** What each part of a store is made by. Bounds are given, and time is the test's. */
export type StoreParts = LateParts;

const limitKey = (key: string, id = "r", more: Partial<LimitKey> = {}): LimitKey => ({
  of: "limit",
  owner: "rule",
  id,
  nth: 0,
  watching: false,
  key,
  ...more,
});
const answerKey = (key: string, more: Partial<AnswerKey> = {}): AnswerKey => ({
  of: "answer",
  scope: "private",
  audience: "jo",
  server: "s",
  rule: "r",
  era: "stateful",
  method: "tools/call",
  subject: null,
  key,
  ...more,
});
const taskKey = (taskId: string, more: Partial<TaskKey> = {}): TaskKey => ({
  of: "task",
  side: "down",
  scope: "a",
  taskId,
  ...more,
});
const inputKey = (state: string, scope = "me"): InputKey => ({ of: "input", scope, state });
const answer = (size: number, ttlMs: number | null = null): CachedAnswer => ({
  result: Buffer.alloc(size),
  ttlMs,
  isPrivate: false,
});

/** Parts that could be taken for others where keys are glued together carelessly. */
const HOSTILE = [
  "",
  "\0",
  ":",
  '","',
  "a",
  "a\0",
  "observe:",
  "1:a",
  "\ud800",
  "\udfff",
  "\ufffd",
  "é",
  "e\u0301",
  "*",
  " ",
];

/** What every store must do, wherever it keeps things. */
export function describeStore(name: string, parts: StoreParts): void {
  describe(`a store ${name}`, () => {
    describeLimits(parts);
    describeAnswers(parts);
    describeSessions(parts);
    describeTasks(parts);
    describeInputs(parts);
  });
}

function describeLimits(parts: StoreParts): void {
  function make(options: { maxKeys?: number; reservedKeys?: number } = {}) {
    const clock = { time: 0 };
    const now = (): number => clock.time;
    return { clock, limits: parts.limits({ maxKeys: 1000, reservedKeys: 10, maxMoments: 10_000, now, ...options }) };
  }

  test("of a limit of two the third in the window is refused, and told when to come back", async () => {
    const { clock, limits } = make();
    expect(await limits.take(limitKey("k"), 2, 1000)).toEqual({ allowed: true, left: 1 });
    clock.time = 400;
    expect(await limits.take(limitKey("k"), 2, 1000)).toEqual({ allowed: true, left: 0 });
    clock.time = 999;
    expect(await limits.take(limitKey("k"), 2, 1000)).toEqual({ allowed: false, retryAfterMs: 1 });
    clock.time = 1000;
    expect(await limits.take(limitKey("k"), 2, 1000)).toEqual({ allowed: true, left: 0 });
    expect(await limits.take(limitKey("k"), 2, 1000)).toEqual({ allowed: false, retryAfterMs: 400 });
  });

  test("of a hundred that take of a limit of ten at the same time, ten are allowed", async () => {
    const { limits } = make();
    const taken = await Promise.all(Array.from({ length: 100 }, async () => limits.take(limitKey("k"), 10, 1000)));
    expect(taken.filter(({ allowed }) => allowed)).toHaveLength(10);
  });

  test("nothing is allowed where the limit is zero", async () => {
    expect(await make().limits.take(limitKey("k"), 0, 1000)).toMatchObject({ allowed: false });
  });

  test("limits with different keys count apart, whatever is in the keys", async () => {
    const { limits } = make();
    const keys = HOSTILE.flatMap((one) => [
      limitKey(one),
      limitKey("k", `r${one}`),
      limitKey(one, "k", { nth: 1 }),
      limitKey(one, "r", { watching: true }),
      limitKey(one, "r", { owner: "interceptor" }),
    ]);
    for (const key of keys)
      expect(await limits.take(key, 1, 1000), JSON.stringify(key)).toMatchObject({ allowed: true });
    for (const key of keys) expect(await limits.take(key, 1, 1000)).toMatchObject({ allowed: false });
  });

  test("a used-up limit survives a flood of other keys, and a fresh key is refused until a window is over", async () => {
    const { clock, limits } = make({ maxKeys: 3, reservedKeys: 1 });
    expect(await limits.take(limitKey("mine"), 1, 1000)).toMatchObject({ allowed: true });
    clock.time = 100;
    for (const key of ["a", "b"]) expect(await limits.take(limitKey(key), 5, 1000)).toMatchObject({ allowed: true });
    expect(await limits.take(limitKey("c"), 5, 1000)).toEqual({ allowed: false, retryAfterMs: 900, isFull: true });
    expect(await limits.take(limitKey("mine"), 1, 1000)).toEqual({ allowed: false, retryAfterMs: 900 });
    expect(await limits.take(limitKey("x", "other"), 5, 1000)).toMatchObject({ allowed: true }); // a rule has some room in any case
    clock.time = 1000;
    expect(await limits.take(limitKey("mine"), 1, 1000)).toMatchObject({ allowed: true });
  });

  test("limits of rules are forgotten by the rule's name, acting or watched, and no others", async () => {
    const { limits } = make();
    const gone = [
      limitKey("k", "gone"),
      limitKey("k", "gone", { watching: true }),
      limitKey("other", "gone", { nth: 2 }),
    ];
    const stays = [limitKey("k", "gone", { owner: "interceptor" }), limitKey("k", "gone too"), limitKey("gone", "r")];
    for (const key of [...gone, ...stays]) await limits.take(key, 1, 1000);
    await limits.forgetRules(["gone", "unknown"]);
    for (const key of gone) expect(await limits.take(key, 1, 1000)).toMatchObject({ allowed: true });
    for (const key of stays) expect(await limits.take(key, 1, 1000)).toMatchObject({ allowed: false });
  });
}

function describeAnswers(parts: StoreParts): void {
  test("an answer is kept until its time is over, the rule's or the server's", async () => {
    let time = 0;
    const answers = parts.answers({ now: () => time });
    await answers.keep(answerKey("rule"), answer(1), 100);
    await answers.keep(answerKey("server"), answer(1, 50), 100);
    time = 49;
    expect(await answers.find(answerKey("server"))).toEqual({ answer: answer(1, 50), ageMs: 49 });
    time = 50;
    expect(await answers.find(answerKey("server"))).toBeUndefined();
    time = 99;
    expect(await answers.find(answerKey("rule"))).toMatchObject({ ageMs: 99 });
    time = 100;
    expect(await answers.find(answerKey("rule"))).toBeUndefined();
  });

  test("there is a bound on answers, and the one that was not asked for longest goes first", async () => {
    const answers = parts.answers({ now: () => 0, maxBytes: 10_000, maxEntries: 3 });
    for (const key of ["a", "b", "c"]) await answers.keep(answerKey(key), answer(100), 1);
    await answers.find(answerKey("a"));
    await answers.keep(answerKey("d"), answer(100), 1);
    const left: string[] = [];
    for (const key of ["a", "b", "c", "d"]) if ((await answers.find(answerKey(key))) !== undefined) left.push(key);
    expect(left).toEqual(["a", "c", "d"]);
    await answers.keep(answerKey("huge"), answer(9000), 1);
    expect(await answers.find(answerKey("huge"))).toBeUndefined();
  });

  test("who asks something else, or is somebody else, finds another answer or none", async () => {
    const answers = parts.answers({ now: () => 0 });
    const keys = [
      ...HOSTILE.flatMap((one) => [
        answerKey(one),
        answerKey("k", { subject: one }),
        answerKey("k", { audience: one }),
      ]),
      ...HOSTILE.slice(1).map((one) => answerKey("k", { rule: `${one}r` })),
      answerKey("k"),
      answerKey("k", { scope: "shared", audience: null }),
      answerKey("k", { server: "other" }),
      answerKey("k", { era: "stateless" }),
      answerKey("k", { method: "other" }),
    ];
    for (const [nth, key] of keys.entries())
      await answers.keep(key, { ...answer(0), result: Buffer.from(`${nth}`) }, 1);
    for (const [nth, key] of keys.entries())
      expect((await answers.find(key))?.answer.result.toString(), JSON.stringify(key)).toBe(`${nth}`);
  });

  test("once they are to be forgotten, no answer is found, not even while that is on its way", async () => {
    const answers = parts.answers({ now: () => 0 });
    await answers.keep(answerKey("a"), answer(1), 100);
    const clearing = answers.clear();
    expect(await answers.find(answerKey("a"))).toBeUndefined();
    await clearing;
    await answers.keep(answerKey("a"), answer(2), 100);
    expect(await answers.find(answerKey("a"))).toEqual({ answer: answer(2), ageMs: 0 });
  });
}

function describeSessions(parts: StoreParts): void {
  function make() {
    const clock = { time: 1000 };
    const now = (): number => clock.time;
    return {
      clock,
      sessions: parts.sessions({ maxSessions: 3, ttlMs: 100, maxNames: 2, maxStateCharacters: 40, now }),
    };
  }

  test("a session counts its messages by method, and whoever loads it next sees that", async () => {
    const { clock, sessions } = make();
    const session = await sessions.load("a");
    session.count("request", "tools/call");
    await session.save();
    clock.time = 1050;
    const next = await sessions.load("a");
    next.count("result", "tools/call", 50);
    next.count("notification", "notifications/progress");
    expect(next.messages).toBe(3); // also before it is saved
    await next.save();
    await sessions.count("a", "error", "tools/call", 7, null);
    const last = await sessions.load("a");
    expect([last.id, last.messages, last.ageMs()]).toEqual(["a", 4, 50]);
    expect(last.methods.get("tools/call")).toEqual({
      requests: 1,
      results: 1,
      errors: 1,
      notifications: 0,
      answeredInMs: 57,
      lastAt: 1050,
    });
  });

  test("what two messages change at the same time adds up", async () => {
    const { sessions } = make();
    await Promise.all(
      Array.from({ length: 20 }, async (_, nth) => {
        if (nth % 2 === 0) return sessions.count("a", "request", "tools/call", 0, "t");
        const session = await sessions.load("a");
        session.count("request", "tools/call");
        session.countCall("t");
        await session.save();
      }),
    );
    const session = await sessions.load("a");
    expect([session.messages, session.calls(null), session.calls("T")]).toEqual([20, 20, 20]);
  });

  test("messages that are judged at the same time see what those before them have changed, saved or not", async () => {
    const { sessions } = make();
    const seen = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const session = await sessions.load("a");
        const before = session.calls("t");
        session.countCall("t");
        session.note("last", before);
        await session.save();
        return before;
      }),
    );
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    expect((await sessions.load("a")).state.get("last")).toBe(4);
  });

  test("what a message has changed and not saved is not lost when another one is loaded after it", async () => {
    const { sessions } = make();
    const slow = await sessions.load("a");
    slow.countCall("t");
    slow.note("seen", true);
    const next = await sessions.load("a");
    expect([next.calls("t"), next.state.get("seen")]).toEqual([1, true]);
    await next.save();
    await slow.save();
    expect((await sessions.load("a")).calls("t")).toBe(1);
  });

  test("a message that takes long sees what happened in its session meanwhile", async () => {
    const { sessions } = make();
    const slow = await sessions.load("a");
    const quick = await sessions.load("a");
    quick.countCall("t");
    await quick.save();
    await sessions.count("a", "request", "tools/call", 0, "t");
    expect((await sessions.load("a")).calls("t")).toBe(2);
    expect(slow.calls("t")).toBe(2);
    slow.countCall("t");
    await slow.save();
    expect((await sessions.load("a")).calls("t")).toBe(3);
  });

  test("methods and tools without number are counted together, and never too few", async () => {
    const { sessions } = make();
    for (const name of ["x", "y", "z", "w", "x"]) await sessions.count("a", "request", name, 0, name);
    await sessions.count("a", "error", null, 0, null);
    const session = await sessions.load("a");
    expect([...session.methods.keys()]).toEqual(["x", "y", OTHERS]);
    expect([null, "x", "y", "z", "new"].map((tool) => session.calls(tool))).toEqual([5, 2, 1, 2, 2]);
  });

  test("a session that is used is kept, and one that is not is forgotten", async () => {
    const { clock, sessions } = make();
    await sessions.count("a", "request", "m", 0, null);
    for (let nth = 0; nth < 5; nth++) {
      clock.time += 99;
      expect((await sessions.load("a")).messages).toBe(1);
    }
    clock.time += 100;
    expect((await sessions.load("a")).messages).toBe(0);
  });

  test("of too many sessions the one that was not used for longest goes", async () => {
    const { sessions } = make();
    for (const scope of ["a", "b", "c", "a", "d"]) await sessions.count(scope, "request", "m", 0, null);
    expect((await sessions.load("a")).messages).toBe(2);
    expect((await sessions.load("d")).messages).toBe(1);
    expect((await sessions.load("b")).messages).toBe(0);
  });

  test("sessions with different names are kept apart, whatever is in the names", async () => {
    const { sessions } = make();
    for (const scope of HOSTILE) {
      await sessions.count(scope, "request", "m", 0, null);
      expect((await sessions.load(scope)).messages, JSON.stringify(scope)).toBe(1);
    }
  });

  test("rules note things in a session, as far as there is room, and take them out", async () => {
    const { sessions } = make();
    const session = await sessions.load("a");
    expect(session.note("seen", true)).toBe(true);
    expect(session.note("big", 2n ** 70n)).toBe(true);
    expect(session.note("text", "x".repeat(50))).toBe(false);
    await session.save();
    const next = await sessions.load("a");
    expect([...next.state]).toEqual([
      ["seen", true],
      ["big", 2n ** 70n],
    ]);
    expect(next.note("big", undefined)).toBe(true);
    expect(next.note("text", "x".repeat(20))).toBe(true);
    expect(next.note("text", "y".repeat(20))).toBe(true);
    await next.save();
    const last = await sessions.load("a");
    expect([...last.state]).toEqual([
      ["seen", true],
      ["text", "y".repeat(20)],
    ]);
    expect(last.note("more", "x".repeat(20))).toBe(false);
  });
}

function describeTasks(parts: StoreParts): void {
  const origin = { method: "tools/call", tool: "x", params: Buffer.alloc(10) };

  test("a task that is asked for is kept, and one that is not is forgotten", async () => {
    let time = 0;
    const tasks = parts.tasks({ maxTasks: 2, maxBytes: 1000, ttlMs: 100, now: () => time });
    await tasks.remember(taskKey("1"), origin);
    expect(await tasks.find(taskKey("1"))).toEqual(origin);
    for (time of [90, 180]) expect(await tasks.find(taskKey("1"))).toEqual(origin);
    time = 280;
    expect(await tasks.find(taskKey("1"))).toBeUndefined();
  });

  test("there is a bound on tasks and on their bytes", async () => {
    const tasks = parts.tasks({ maxTasks: 2, maxBytes: 1000, ttlMs: 100, now: () => 0 });
    for (const id of ["1", "2", "3"]) await tasks.remember(taskKey(id), origin);
    expect(await tasks.find(taskKey("1"))).toBeUndefined();
    await tasks.remember(taskKey("4"), { ...origin, params: Buffer.alloc(2000) });
    expect(await tasks.find(taskKey("4"))).toBeUndefined();
    await tasks.remember(taskKey("5"), { ...origin, params: Buffer.alloc(860) });
    expect((await tasks.find(taskKey("5")))?.tool).toBe("x");
    expect(await tasks.find(taskKey("3"))).toBeUndefined();
  });

  test("tasks of one side and of one conversation are not those of another, whatever their ids", async () => {
    const tasks = parts.tasks({ maxTasks: 1000, maxBytes: 1_000_000, ttlMs: 100, now: () => 0 });
    const keys = HOSTILE.flatMap((one) => [
      taskKey(one),
      taskKey("t", { scope: `${one}x` }),
      taskKey(one, { side: "up" }),
      taskKey(`x${one}`, { scope: "" }),
    ]);
    for (const [nth, key] of keys.entries()) await tasks.remember(key, { ...origin, tool: `${nth}` });
    for (const [nth, key] of keys.entries()) expect((await tasks.find(key))?.tool, JSON.stringify(key)).toBe(`${nth}`);
  });
}

function describeInputs(parts: StoreParts): void {
  const methods = new Map([["k", "roots/list"]]);
  const charged = [limitKey("one"), limitKey("two", "r", { nth: 1 })];

  test("what was asked is known when the call is taken up again, and its charges are given back once", async () => {
    const inputs = parts.inputs(() => 0, 100);
    await inputs.remember(inputKey("s"), { hash: "h", charged, methods });
    expect(inputs.isEmpty()).toBe(false);
    expect((await inputs.find(inputKey("s")))?.methods.get("k")).toBe("roots/list");
    expect(await inputs.find(inputKey("s", "somebody else"))).toBeUndefined();
    expect(await inputs.spend(inputKey("s"), () => "another call")).toEqual([]);
    const spent = await Promise.all(Array.from({ length: 10 }, async () => inputs.spend(inputKey("s"), () => "h")));
    expect(spent.flat()).toEqual(charged);
    expect((await inputs.find(inputKey("s")))?.methods.get("k")).toBe("roots/list");
  });

  test("calls with different states are kept apart, whatever is in the states", async () => {
    const inputs = parts.inputs(() => 0, 1000);
    const keys = HOSTILE.flatMap((one) => [inputKey(one), inputKey("s", `${one}x`), inputKey(`x${one}`, "")]);
    for (const [nth, key] of keys.entries()) await inputs.remember(key, { hash: `${nth}`, charged: [], methods });
    for (const [nth, key] of keys.entries()) expect((await inputs.find(key))?.hash, JSON.stringify(key)).toBe(`${nth}`);
  });

  test("a call that is not taken up again is forgotten after an hour, and where there are too many", async () => {
    let time = 0;
    const inputs = parts.inputs(() => time, 2);
    for (const state of ["a", "b", "c"]) await inputs.remember(inputKey(state), { hash: null, charged: [], methods });
    expect(await inputs.find(inputKey("a"))).toBeUndefined();
    expect(await inputs.find(inputKey("c"))).toBeDefined();
    time = 3_600_000;
    expect(await inputs.find(inputKey("c"))).toBeUndefined();
  });

  test("questions with long names are forgotten for others, the oldest first", async () => {
    const inputs = parts.inputs(() => 0, 100);
    for (let nth = 0; nth < 20; nth++) {
      const long = new Map([[`${nth}`.padEnd(1024 * 1024, "k"), "roots/list"]]);
      await inputs.remember(inputKey(`${nth}`), { hash: null, charged: [], methods: long });
    }
    expect(await inputs.find(inputKey("0"))).toBeUndefined();
    expect((await inputs.find(inputKey("19")))?.methods.size).toBe(1);
  });
}
