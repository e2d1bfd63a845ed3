import { describe, expect, test } from "vitest";
import { createMark, MARK_VARIABLE, markedEnvironment } from "../../src/link/mark.ts";

describe("a mark", () => {
  test("is never made twice, and is plain enough for any tool", () => {
    const marks = new Set(Array.from({ length: 1000 }, createMark));
    expect(marks.size).toBe(1000);
    for (const mark of marks) expect(mark).toMatch(/^[0-9a-f]{24}$/);
  });
});

describe("a child's environment", () => {
  test("is ours and what was asked for, and what was asked for wins", () => {
    const environment = markedEnvironment({ PATH: "/bin", HOME: "/" }, { HOME: "/home", EXTRA: "" }, "m");
    expect(environment).toEqual({ PATH: "/bin", HOME: "/home", EXTRA: "", MARKED_BY_FAIRLEAD: "m" });
  });

  test("has nothing of what is meant for us, unless it was asked for", () => {
    const own = { FAIRLEAD_KEY: "k", Fairlead_Other: "o", NOT_FAIRLEAD_KEY: "n", FAIRLEADER: "f" };
    expect(markedEnvironment(own, { FAIRLEAD_ASKED: "a" }, "m")).toEqual({
      NOT_FAIRLEAD_KEY: "n",
      FAIRLEADER: "f",
      FAIRLEAD_ASKED: "a",
      MARKED_BY_FAIRLEAD: "m",
    });
  });

  test("keeps the marks of those who stand before us, whatever was asked for", () => {
    const environment = markedEnvironment({ [MARK_VARIABLE]: "one:two" }, { [MARK_VARIABLE]: "none" }, "three");
    expect(environment).toEqual({ [MARK_VARIABLE]: "one:two:three" });
  });

  test("leaves ours as it was", () => {
    const own = { PATH: "/bin" };
    markedEnvironment(own, { A: "a" }, "m");
    expect(own).toEqual({ PATH: "/bin" });
  });
});
