import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileFilter } from "../../src/filter/compile.ts";
import { type FilterRow, textAt } from "../../src/filter/row.ts";
import { someNode } from "./filters.ts";
import { judge } from "./model.ts";
import { NOW, someRow } from "./rows.ts";
import { leastCpuTime } from "../support/cpu.ts";
import { filterOf, patterns, type Row, viewRow } from "./support.ts";
import { runs } from "../support/runs.ts";

const asked = (text: string, row: Row, now = NOW): boolean | undefined =>
  compileFilter(filterOf(text), { now, patterns }).judge(viewRow(row));

test("a filter says what its plainest reading says", () => {
  const seen = new Map<boolean | undefined, number>();
  fc.assert(
    fc.property(someNode, fc.array(someRow, { minLength: 4, maxLength: 4 }), (root, rows) => {
      const compiled = compileFilter({ text: "", root }, { now: NOW, patterns });
      for (const row of rows) {
        const wanted = judge(root, viewRow(row), NOW);
        seen.set(wanted, (seen.get(wanted) ?? 0) + 1);
        expect(compiled.judge(viewRow(row))).toBe(wanted);
        expect(compiled.test(viewRow(row))).toBe(wanted === true);
      }
    }),
    { numRuns: runs(2000) },
  );
  for (const answer of [true, false, undefined]) expect(seen.get(answer)).toBeGreaterThan(runs(500));
});

const CALL: Row = {
  method: "tools/call",
  tool: "write_file",
  client: "Claude-Code",
  session: "a41f",
  rule: "in-the-workspace",
  dir: "up",
  verdict: "deny",
  latency: 50.2,
  bytes: 2048,
  code: -32603,
  time: NOW - 60_000,
  shown: 'write_file path "/etc/hosts" deny in-the-workspace',
  args: { path: "/etc/hosts", force: true, lines: [{ n: 1 }] },
  answer: { content: [{ type: "text", text: "Password: 1" }] },
  states: ["refused"],
};

describe("a row", () => {
  test.each([
    ["", true],
    ["tool:FILE", true],
    ["tool=write_File", false],
    ["tool:read,write", true],
    ["client:claude -client:cursor", true],
    ["note:x", false],
    ["-note:x", true],
    ["note:*", false],
    ["tool!=read_file", true],
    ["note!=x", true],
    ["verdict:deny,drop", true],
    ["is:refused", true],
    ["is:changed or is:refused", true],
    ["-is:open", true],
    ["is:*", true],
    ["latency>50ms", true],
    ["latency:50ms", true],
    ["latency:50.1ms", false],
    ["latency:50.2ms", true],
    ["latency:1ms..50ms", false],
    ["latency:1ms..0.1s", true],
    ["bytes:2KB", true],
    ["bytes<=2KB", true],
    ["code:-32603", true],
    ["code:-32700..-32600", true],
    ["held:*", false],
    ["time>-10m", true],
    ["time>-30s", false],
    ["arg.path:/ETC", true],
    ["arg.path=/etc/hosts", true],
    ["arg.force:true", true],
    ["arg.lines[0].n=1", true],
    ["arg.lines:*", true],
    ["arg.missing:*", false],
    ["-arg.missing:x", true],
    ["result.content[0].text~/(?i)password/", true],
    ["result.content[0].text~/password/", false],
    ["result.content[0].text~/password/i", true],
    ['text:"password: 1"', true],
    ["hosts etc", true],
    ["hosts nothing", false],
    ['"path \\"/etc"', true],
    ["~/deny .*space$/", true],
  ])("that %s is looked for in: %s", (text, wanted) => {
    expect(asked(text, CALL)).toBe(wanted);
  });
});

/** A time of the day that is today for the filters, or of another one. */
function at(hour: number, minute: number, second = 0, day = 16): number {
  return new Date(2026, 10, day, hour, minute, second).getTime();
}

describe("a time", () => {
  test.each<[string, number, boolean]>([
    // Now is 12:04:30.
    ["time:12:04", at(12, 4, 0), true],
    ["time:12:04", at(12, 4, 59), true],
    ["time:12:04", at(12, 5, 0), false],
    ["time:12:04:25", at(12, 4, 25), true],
    ["time>12:03", at(12, 3, 0), false],
    ["time>12:03", at(12, 3, 1), true],
    // Later than now is yesterday's.
    ["time:13:00", at(13, 0, 0, 15), true],
    ["time:13:00", at(13, 0, 0, 16), false],
    ["time:23:50..00:10", at(0, 10, 59), true],
    ["time:23:50..00:10", at(23, 55, 0, 15), true],
    ["time:23:50..00:10", at(0, 11, 0), false],
    ["time:08:00..13:00", at(12, 30), true],
    ["time:2026-11-15", at(23, 59, 59, 15), true],
    ["time:2026-11-15", at(0, 0, 0, 16), false],
    ["time:2026-11-14..2026-11-15", at(12, 0, 0, 15), true],
    ["time>=2026-11-16T00:00", at(0, 0), true],
  ])("%s at %d: %s", (text, time, wanted) => {
    expect(asked(text, { time })).toBe(wanted);
  });

  test("with a zone does not depend on where the clock stands", () => {
    const time = Date.UTC(2026, 10, 16, 12, 0, 30);
    expect(asked("time:2026-11-16T12:00Z", { time })).toBe(true);
    expect(asked("time:2026-11-16T14:00+02:00", { time })).toBe(true);
    expect(asked("time:2026-11-16T06:30:30-05:30", { time })).toBe(true);
    expect(asked("time<2026-11-16T12:00Z", { time })).toBe(false);
  });
});

describe("a row whose bytes were not kept", () => {
  const row: Row = { tool: "read", args: undefined, answer: undefined };
  test.each<[string, boolean | undefined]>([
    ["arg.path:x", undefined],
    ["-arg.path:x", undefined],
    ["arg.path:*", undefined],
    ["text:x", undefined],
    ["tool:read arg.path:x", undefined],
    ["tool:read or arg.path:x", true],
    ["tool:write arg.path:x", false],
    ["-(tool:write arg.path:x)", true],
  ])("is judged by %s as %s", (text, wanted) => {
    expect(asked(text, row)).toBe(wanted);
  });
});

test("a text that is too long for the engine makes a row that cannot be judged", () => {
  const shown = "a".repeat(300_000);
  expect(asked("~/[ab]c/", { shown })).toBeUndefined();
  expect(asked("-~/[ab]c/", { shown })).toBeUndefined();
});

test("no letter outside ASCII is one of ASCII, which is what SQLite says, too", () => {
  expect(asked("tool:k", { tool: "\u212a" })).toBe(false);
  expect(asked("tool:s", { tool: "ſ" })).toBe(false);
  expect(asked("tool:é", { tool: "CAFÉ" })).toBe(true);
});

test("a pattern needs an engine", () => {
  expect(() => compileFilter(filterOf("~/a/"), { now: 0 })).toThrow("no engine");
});

test("what stands at a place in a body is found as rules find it", () => {
  const value: unknown = JSON.parse('{"a":[{"b":"x"},2],"0":"zero","n":null,"o":{"p":1},"__proto__":{"q":1}}');
  expect(textAt(value, ["a", 0, "b"])).toBe("x");
  expect(textAt(value, ["a", 1])).toBe("2");
  expect(textAt(value, [0])).toBe("zero");
  expect(textAt(value, ["a", "0"])).toBeNull();
  expect(textAt(value, ["a", "length"])).toBeNull();
  expect(textAt(value, ["constructor"])).toBeNull();
  expect(textAt(value, ["n"])).toBe("null");
  expect(textAt(value, ["o"])).toBe('{"p":1}');
  expect(textAt(value, ["o", "p", "q"])).toBeNull();
});

test("a hundred thousand rows are filtered between two keystrokes", async () => {
  const rows = Array.from({ length: 100_000 }, (_, nth): [string, string, string, number, number] => [
    `12:04:22.${nth % 1000} claude-code › files get_file_info path "/workspace/src/relay/Pump${nth}.ts" limit ${nth}`,
    "get_file_info",
    nth % 50 === 0 ? "deny" : "pass",
    nth % 300,
    NOW - nth,
  ]);
  let row = rows[0];
  // One cursor for all rows.
  const cursor: FilterRow = {
    text: (field) => (field === "tool" ? row[1] : null),
    word: (field) => (field === "verdict" ? row[2] : null),
    is: (state) => state === "refused" && row[2] === "deny",
    amount: (field) => (field === "latency" ? row[3] : field === "time" ? row[4] : null),
    body: () => undefined,
    shown: () => row[0],
  };
  const texts = [
    "pump99999",
    "zzz workspace",
    "tool:file_info latency>50ms",
    "is:refused time>-10m",
    "-verdict:pass or pump7",
    "~/Pump\\d+7\\./",
  ];
  const times: number[] = [];
  for (const text of texts) {
    const { test: fits } = compileFilter(filterOf(text), { now: NOW, patterns });
    const pass = (): void => {
      let hits = 0;
      for (row of rows) if (fits(cursor)) hits++;
      expect(hits).toBeLessThan(rows.length);
    };
    times.push(await leastCpuTime(pass));
  }
  console.log(
    `filter: 100,000 rows in ms: ${texts.map((text, nth) => `${text}  ${times[nth].toFixed(1)}`).join(" | ")}`,
  );
  // The budget is 50 ms of a machine that is not busy.
  for (const time of times) expect(time).toBeLessThan(100);
});
