import { expect, test } from "vitest";
import { createSessionBook, OTHERS } from "../../src/store/sessions.ts";

function book() {
  const clock = { time: 1000 };
  const sessions = createSessionBook({
    maxSessions: 3,
    ttlMs: 100,
    maxNames: 2,
    maxStateCharacters: 40,
    now: () => clock.time,
  });
  return { clock, sessions };
}

test("a session counts its messages by method", () => {
  const { clock, sessions } = book();
  const session = sessions.of("a");
  session.count("request", "tools/call");
  clock.time = 1050;
  session.count("result", "tools/call", 50);
  session.count("error", "tools/call", 7);
  session.count("notification", "notifications/progress");
  expect(session.messages).toBe(4);
  expect(session.ageMs()).toBe(50);
  expect(session.methods.get("tools/call")).toEqual({
    requests: 1,
    results: 1,
    errors: 1,
    notifications: 0,
    answeredInMs: 57,
    lastAt: 1050,
  });
  expect(sessions.of("a")).toBe(session);
});

test("methods and tools without number are counted together, and never too few", () => {
  const session = book().sessions.of("a");
  for (const name of ["x", "y", "z", "w", "x"]) {
    session.count("request", name);
    session.countCall(name);
  }
  session.count("error", null);
  expect([...session.methods.keys()]).toEqual(["x", "y", OTHERS]);
  expect([
    session.calls(null),
    session.calls("x"),
    session.calls("y"),
    session.calls("z"),
    session.calls("new"),
  ]).toEqual([5, 2, 1, 2, 2]);
});

test("a name in capitals, or with what does not show in it, begins no other count", () => {
  const session = book().sessions.of("a");
  for (const name of ["rm", "RM", "r\u200bm", "\uff32m"]) session.countCall(name);
  expect([session.calls("rm"), session.calls("Rm")]).toEqual([4, 4]);
});

test("a session that is used is kept, and one that is not is forgotten", () => {
  const { clock, sessions } = book();
  const session = sessions.of("a");
  for (let nth = 0; nth < 5; nth++) {
    clock.time += 99;
    expect(sessions.of("a")).toBe(session);
  }
  clock.time += 100;
  expect(sessions.size).toBe(0);
  expect(sessions.of("a")).not.toBe(session);
});

test("of too many sessions the one used least lately goes", () => {
  const { sessions } = book();
  const [a, b] = ["a", "b", "c"].map((id) => sessions.of(id));
  sessions.of("a");
  sessions.of("d");
  expect([sessions.size, sessions.of("a") === a, sessions.of("b") === b]).toEqual([3, true, false]);
  sessions.forget("a");
  expect(sessions.of("a")).not.toBe(a);
});

test("rules note things in a session, as far as there is room", () => {
  const session = book().sessions.of("a");
  expect(session.note("seen", true)).toBe(true);
  expect(session.note("big", 2n ** 70n)).toBe(true);
  expect(session.note("text", "x".repeat(50))).toBe(false);
  expect([...session.state]).toEqual([
    ["seen", true],
    ["big", 2n ** 70n],
  ]);
  expect(session.note("big", undefined)).toBe(true);
  expect(session.note("text", "x".repeat(20))).toBe(true);
  expect(session.note("text", "y".repeat(20))).toBe(true);
  expect([...session.state.keys()]).toEqual(["seen", "text"]);
});
