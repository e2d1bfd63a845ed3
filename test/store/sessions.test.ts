import { expect, test } from "vitest";
import { createMemorySessions } from "../../src/store/sessions.ts";

function make() {
  const clock = { time: 1000 };
  const now = (): number => clock.time;
  const sessions = createMemorySessions({ maxSessions: 3, ttlMs: 100, maxNames: 2, maxStateCharacters: 40, now });
  return { clock, sessions };
}

test("a name in other letter case, or with characters that do not show, does not begin another count", () => {
  const session = make().sessions.load("a");
  for (const name of ["rm", "RM", "r\u200bm", "\uff32m"]) session.countCall(name);
  expect([session.calls("rm"), session.calls("Rm")]).toEqual([4, 4]);
});

test("in memory all messages of a session share one record, and there is nothing to save", () => {
  const { clock, sessions } = make();
  const session = sessions.load("a");
  expect(sessions.load("a")).toBe(session);
  session.countCall("t");
  expect(session.save()).toBeUndefined();
  expect(sessions.load("a").calls("t")).toBe(1);
  clock.time += 100;
  expect(sessions.size).toBe(0);
  expect(sessions.load("a")).not.toBe(session);
});

test("the sessions that are remembered are listed, the one used last at the end", () => {
  const { sessions } = make();
  for (const scope of ["a", "b", "a"]) sessions.load(scope);
  expect(sessions.all().map(({ id }) => id)).toEqual(["b", "a"]);
});
