import { describe, expect, test } from "vitest";
import { MAX_POLICY_CHARACTERS } from "../../src/config/read-policy.ts";
import { complaints, read, withRule } from "./reading.ts";

describe("what is not YAML", () => {
  test.each([
    [
      "tools:\n\tdeny: []",
      "2:1 syntax: This is not YAML: tab characters must not be used in indentation → Indent with spaces, not with tabs",
    ],
    [
      "log: { level: info",
      /^1:19 syntax: This is not YAML: unexpected end of the stream .* → Look at brackets and quotes/,
    ],
    ['tools: { deny: ["\\d"] }', /^1:19 syntax: .* → Write two backslashes, or use single quotes$/],
    ["log: { file: @a }", /syntax/],
    ["log:\n  file: a: b", /→ Put a value that has a colon in it in quotes$/],
    ["log: *nothing", "1:6 syntax: There is no anchor &nothing before this"],
    ["log: &a { level: *a }", "1:18 syntax: The alias *a refers to a value that contains it"],
    ["log: !secret x", /syntax: The tag !secret is not supported here/],
    ["? [a]\n: b", /wrong-type: A key must be text/],
    ["--- 1\n--- 2", /syntax: There is a second document/],
    ["a: \0", /syntax/],
  ])("%j", (text, expected) => {
    const [first] = complaints(text);
    if (typeof expected === "string") expect(first).toBe(expected);
    else expect(first).toMatch(expected);
  });

  test("does not hide mistakes in other parts of the file", () => {
    const text = `tols: 1
interceptor:
  rules:
    - id: one
      actions: [alow]
    - id: two
      actions: [allow
    - id: three
      actions: [blok]
log: { level: inf }
`;
    expect(complaints(text).map((line) => line.split(" ", 2).join(" "))).toEqual([
      "1:1 unknown-key:",
      "5:17 unknown-key:",
      "8:5 syntax:",
      "9:17 unknown-key:",
      "10:15 wrong-value:",
    ]);
    expect(complaints('log: "\ntols: 1\n')).toHaveLength(1);
    expect(complaints("log: ]\ntols: 1\n").map((line) => line.split(" ", 2).join(" "))).toEqual([
      "1:6 syntax:",
      "2:1 unknown-key:",
    ]);
  });

  test("explicit tags say what a scalar is", () => {
    expect(read("log: !!map { file: !!str 5 }").policy!.log.file).toBe("5");
    expect(complaints("version: !!int one")).toEqual([
      "1:10 syntax: The tag !!int is not supported here → Take it out; text goes in quotes",
    ]);
  });
});

describe("aliases", () => {
  test("stand for what they refer to", () => {
    const { policy } = read("log: { file: &f out.log }\naudit: { file: *f }");
    expect(policy!.audit!.file).toBe("out.log");
  });

  test("a mistake in what many refer to is one mistake", () => {
    const text = `interceptor:\n  rules:\n    - { id: a, actions: &x [alow] }\n    - { id: b, actions: *x }\n    - { id: c, actions: *x }\n`;
    expect(complaints(text)).toEqual(["3:29 unknown-key: Unknown action: alow → Did you mean allow?"]);
  });

  test("do not multiply without bounds", () => {
    const levels = Array.from({ length: 30 }, (_, nth) => `l${nth + 1}: &l${nth + 1} [${`*l${nth},`.repeat(10)}]`);
    const began = performance.now();
    expect(complaints(`l0: &l0 [x]\n${levels.join("\n")}`)[0]).toMatch(
      /too-many-aliases: Aliases stand for more than 100000 values/,
    );
    expect(performance.now() - began).toBeLessThan(2000);
  });

  test("do not nest without bounds", () => {
    const levels = Array.from({ length: 5000 }, (_, nth) => `l${nth + 1}: &l${nth + 1} [*l${nth}]`);
    expect(complaints(`l0: &l0 [x]\n${levels.join("\n")}`)[0]).toMatch(/too-deep: Nested more than 64 levels deep/);
  });
});

test("a file that is nested too deep, or too long, is refused by name", () => {
  expect(complaints(withRule(`${"[{ all: ".repeat(100)}[]`))[0]).toMatch(/too-deep: Nested too deep/);
  expect(complaints(" ".repeat(MAX_POLICY_CHARACTERS + 1))).toEqual([
    "1:1 too-large: The file has more than 4194304 characters → Put fewer rules into it",
  ]);
});

test("more mistakes than anybody mends are counted", () => {
  const text = Array.from({ length: 3000 }, (_, nth) => `unknown_key_${nth}: 1`).join("\n");
  const { mistakes } = read(text);
  expect(mistakes).toHaveLength(1001);
  expect(mistakes.at(-1)!.message).toBe("There are 2000 more mistakes");
});
