import { describe, expect, test } from "vitest";
import { createHoldBook, type HoldBookOptions, type HoldEnd, type HoldRequest } from "../../src/store/holds.ts";

const REQUEST: HoldRequest = {
  server: "postgres",
  session: "s1",
  identity: "jo",
  client: "claude-code",
  direction: "up",
  method: "tools/call",
  tool: "execute_sql",
  rule: "ask-before-sql",
  ask: "May this run on production?",
  message: Buffer.from("{}"),
  timeoutMs: 60_000,
  atDeadline: "deny",
  check: () => null,
};

function open(options: Partial<HoldBookOptions> = {}) {
  const clock = { time: 1000 };
  const timers = new Set<{ readonly at: number; readonly fire: () => void }>();
  const told: string[] = [];
  const book = createHoldBook({
    now: () => clock.time,
    after(milliseconds, fire) {
      const timer = { at: clock.time + milliseconds, fire };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    ...options,
  });
  const listener = {
    held: ({ tool }: { tool: string | null }) => void told.push(`held ${tool}`),
    released: ({ tool }: { tool: string | null }, { by }: HoldEnd) => void told.push(`released ${tool} by ${by}`),
  };
  return {
    book,
    told,
    timers,
    listener,
    hush: book.listen(listener),
    hold: (changes: Partial<HoldRequest> = {}, signal = new AbortController().signal) =>
      book.hold({ ...REQUEST, ...changes }, signal),
    wait(milliseconds: number): void {
      clock.time += milliseconds;
      for (const timer of timers) if (timer.at <= clock.time) timer.fire();
    },
  };
}

const ALLOW = { do: "allow" } as const;

test("a held message is listed with all that a person needs, the one with the least time left first", () => {
  const { book, hold } = open();
  void hold({ tool: "slow" });
  void hold({ tool: "quick", timeoutMs: 100 });
  const [first, second] = book.list();
  expect([first.tool, second.tool]).toEqual(["quick", "slow"]);
  const shown = Object.entries(REQUEST).filter(([name]) => name !== "check" && name !== "timeoutMs");
  const told = { ...Object.fromEntries(shown), tool: "slow", since: 1000, deadline: 61_000 };
  expect(second).toEqual({ ...told, id: second.id });
  expect(first.id).not.toBe(second.id);
});

test("the first decision counts", async () => {
  const { book, hold, timers } = open();
  const ended = hold();
  const [{ id }] = book.list();
  expect(book.decide(id, { do: "deny", reason: "not today" }, "jo")).toBe(true);
  expect(book.decide(id, ALLOW, "kim")).toBe(false);
  expect(book.decide("unknown", ALLOW, "kim")).toBe(false);
  expect(await ended).toEqual({ by: "decision", verdict: { do: "deny", reason: "not today" }, who: "jo" });
  expect([book.list(), timers.size]).toEqual([[], 0]);
});

test("bytes that cannot take the place of the message decide nothing", async () => {
  const { book, hold } = open();
  const ended = hold({ check: (message) => (message.toString() === "good" ? null : "not good") });
  const [{ id }] = book.list();
  expect([book.check(id, Buffer.from("bad")), book.check(id, Buffer.from("good"))]).toEqual(["not good", null]);
  expect(book.decide(id, { do: "change", message: Buffer.from("bad") }, "jo")).toBe(false);
  expect(book.list()).toHaveLength(1);
  expect(book.decide(id, { do: "change", message: Buffer.from("good") }, "jo")).toBe(true);
  expect(await ended).toMatchObject({ by: "decision", who: "jo" });
});

test("a message for which nobody decides in time is released at its deadline, and not before", async () => {
  const { book, hold, wait, told } = open();
  const ended = hold({ timeoutMs: 5000 });
  wait(4999);
  expect(book.list()).toHaveLength(1);
  const [{ id }] = book.list();
  wait(1);
  expect(await ended).toEqual({ by: "deadline" });
  expect(book.decide(id, ALLOW, "jo")).toBe(false);
  expect(told).toEqual(["held execute_sql", "released execute_sql by deadline"]);
});

test("a timer that fires although it was stopped ends nothing a second time", () => {
  const fires: (() => void)[] = [];
  const { book, hold, told } = open({
    maxHeldBytes: 10,
    after(_, fire) {
      fires.push(fire);
      return () => {};
    },
  });
  void hold({ message: Buffer.alloc(8) });
  book.decide(book.list()[0].id, ALLOW, "jo");
  for (const fire of fires) fire();
  expect(told).toEqual(["held execute_sql", "released execute_sql by decision"]);
});

test("a time that timers cannot wait for is not over at once", () => {
  const real = createHoldBook({ now: Date.now });
  const gone = new AbortController();
  void real.hold({ ...REQUEST, timeoutMs: Number.MAX_SAFE_INTEGER }, gone.signal);
  expect(real.list()).toHaveLength(1);
  gone.abort();
  expect(real.list()).toHaveLength(0);
});

describe("a hold ends", () => {
  test("when nobody waits for the message any more", async () => {
    const { book, hold } = open();
    const gone = new AbortController();
    const ended = hold({}, gone.signal);
    gone.abort();
    expect(await ended).toEqual({ by: "withdrawal" });
    expect(book.list()).toEqual([]);
    expect(await hold({}, gone.signal)).toEqual({ by: "withdrawal" });
  });

  test("when its conversation ends, and others go on", async () => {
    const { book, hold } = open();
    const ended = [hold(), hold()];
    void hold({ session: "s2" });
    book.endSession("s1");
    expect(await Promise.all(ended)).toEqual([{ by: "withdrawal" }, { by: "withdrawal" }]);
    expect(book.list().map(({ session }) => session)).toEqual(["s2"]);
  });

  test("when the book is closed, and nothing is held after that", async () => {
    const { book, hold } = open();
    const ended = hold();
    book.close();
    expect(await ended).toEqual({ by: "withdrawal" });
    expect(await hold()).toEqual({ by: "no-room" });
  });
});

describe("there is a bound", () => {
  test("on how many are held, and on how many of one session", async () => {
    const { book, hold } = open({ maxHeld: 3, maxHeldInSession: 2 });
    for (const session of ["a", "a"]) void hold({ session });
    expect(await hold({ session: "a" })).toEqual({ by: "no-room" });
    void hold({ session: "b" });
    expect(await hold({ session: "c" })).toEqual({ by: "no-room" });
    book.decide(book.list()[0].id, ALLOW, "jo");
    void hold({ session: "c" });
    expect(book.list()).toHaveLength(3);
  });

  test("on their bytes, which are free again when they are released", async () => {
    const { book, hold } = open({ maxHeldBytes: 10 });
    void hold({ message: Buffer.alloc(8) });
    expect(await hold({ message: Buffer.alloc(3) })).toEqual({ by: "no-room" });
    book.decide(book.list()[0].id, ALLOW, "jo");
    void hold({ message: Buffer.alloc(10) });
    expect(book.list()).toHaveLength(1);
  });
});

test("who listens hears each hold and each release once, until that is ended, and harms nobody", async () => {
  const troubles: unknown[] = [];
  const { book, hold, told, hush } = open({ onTrouble: (error) => troubles.push(error) });
  book.listen({
    held() {
      throw new Error("broken");
    },
    released() {},
  });
  const ended = hold({ tool: "a" });
  book.decide(book.list()[0].id, ALLOW, "jo");
  expect(await ended).toMatchObject({ by: "decision" });
  hush();
  void hold({ tool: "b" });
  expect(told).toEqual(["held a", "released a by decision"]);
  expect(troubles.map(String)).toEqual(["Error: broken", "Error: broken"]);
});
