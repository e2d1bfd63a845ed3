import { describe, expect, test } from "vitest";
import { hasPattern, MAX_DEPTH, MAX_FILTER_CHARACTERS, MAX_TERMS } from "../../src/filter/filter.ts";
import { applyFix } from "../../src/filter/mistake.ts";
import { parseFilter } from "../../src/filter/parse.ts";
import { printFilter } from "../../src/filter/print.ts";
import { filterOf, patterns, plain } from "./support.ts";

describe("a filter is read as", () => {
  const shown = { name: "shown", path: [] };
  const tool = { name: "tool", path: [] };
  test.each<[string, unknown]>([
    ["", { kind: "all", of: [] }],
    ["  ", { kind: "all", of: [] }],
    ["tool:a,b", { kind: "contains", field: tool, values: ["a", "b"] }],
    ['tool="a b","c\\"d"', { kind: "equals", field: tool, values: ["a b", 'c"d'] }],
    ["tool!=a", { kind: "not", of: { kind: "equals", field: tool, values: ["a"] } }],
    ["tool:*", { kind: "exists", field: tool }],
    ["word", { kind: "contains", field: shown, values: ["word"] }],
    ['"C:\\new"', { kind: "contains", field: shown, values: ["C:\\new"] }],
    ["~/a b/i", { kind: "matches", field: shown, source: "a b", ignoreCase: true }],
    ["tool~/a\\/b\\.c/", { kind: "matches", field: tool, source: "a/b\\.c", ignoreCase: false }],
    ["verdict:DENY,drop", { kind: "word", field: { name: "verdict", path: [] }, words: ["deny", "drop"] }],
    ["arg.a[0]:x", { kind: "contains", field: { name: "arg", path: ["a", 0] }, values: ["x"] }],
    ['arg["x.y"].z:x', { kind: "contains", field: { name: "arg", path: ["x.y", "z"] }, values: ["x"] }],
    ["arg./a~1b/0:x", { kind: "contains", field: { name: "arg", path: ["a/b", 0] }, values: ["x"] }],
    ["arg:x", { kind: "contains", field: { name: "arg", path: [] }, values: ["x"] }],
    [
      "arg.path:https://a.b/c?d=e",
      { kind: "contains", field: { name: "arg", path: ["path"] }, values: ["https://a.b/c?d=e"] },
    ],
  ])("%s", (text, wanted) => {
    expect(plain(filterOf(text).root)).toEqual(wanted);
  });
});

function same(one: string, other: string): void {
  expect(plain(filterOf(one).root)).toEqual(plain(filterOf(other).root));
}

test("terms side by side must all hold, and or binds weaker", () => {
  same("a b or c d", "(a and b) or (c AND d)");
  same("a or b or c", "a OR b OR (c)");
  same("((a)) -(b)", "a -b");
  expect(plain(filterOf("a (b or c)").root)).not.toEqual(plain(filterOf("a b or c").root));
  expect(plain(filterOf("a (b c)").root)).not.toEqual(plain(filterOf("a b c").root));
});

test("every part knows where it stands", () => {
  const text = 'tool:a  -(x or arg.p:"q r")';
  const { root } = filterOf(text);
  const pieces: string[] = [];
  const visit = (node: typeof root): void => {
    pieces.push(text.slice(node.start, node.end));
    if ("of" in node) for (const each of node.kind === "not" ? [node.of] : node.of) visit(each);
  };
  visit(root);
  expect(pieces).toEqual([text, "tool:a", '-(x or arg.p:"q r")', '(x or arg.p:"q r")', "x", 'arg.p:"q r"']);
});

describe("amounts", () => {
  test.each<[string, string]>([
    ["latency>050MS", "latency>50ms"],
    ["latency:1ms..2.50s", "latency:1ms..2.50s"],
    ["code:-32603,-0", "code:-32603,0"],
    ["bytes>=2kb", "bytes>=2KB"],
    ["time>-10M", "time>-10m"],
    ["time:9:04", "time:09:04"],
    ["time:2026-11-16t12:00:05.5z", "time:2026-11-16T12:00:05.5Z"],
    ["time<2026-11-16T12:00+02:00", "time<2026-11-16T12:00+02:00"],
    ["time:23:50..00:10", "time:23:50..00:10"],
    ["latency!=5ms", "-latency:5ms"],
    ["latency:*", "latency:*"],
  ])("%s is %s", (text, wanted) => {
    expect(printFilter(filterOf(text))).toBe(wanted);
  });
});

// What is said, and what the filter is after the fix. A star is around the words that are a button.
const MISTAKES: [typed: string, said: string, fixed: string | null][] = [
  ["tol:x", "Unknown field: tol. Did you mean *tool*?", "tool:x"],
  ["verdict:block", "verdict is never block. Did you mean *deny*?", "verdict:deny"],
  ["latency>50", "latency: 50 has no unit. Did you mean *50ms*?", "latency>50ms"],
  ["file:///x", 'Unknown field: file. To look for this text, write *"file:///x"*', '"file:///x"'],
  ["(tool:a", "This ( is never closed", "(tool:a)"],
  ['text:"a', 'This " is never closed', 'text:"a"'],
  ['text:"a\\', 'This " is never closed', 'text:"a\\\\"'],
  ["a or", "Nothing after or", "a"],
  ["tool~/(a/", "Not a pattern: missing ) at 3", null],
  // The rest of the family.
  ["a:\\x", 'Unknown field: a. To look for this text, write *"a:\\\\x"*', '"a:\\\\x"'],
  ["args.path:/etc", "Unknown field: args.path. Did you mean *arg.path*?", "arg.path:/etc"],
  ["direction:up", "Unknown field: direction. Did you mean *dir*?", "dir:up"],
  ["tool.x:1", "Unknown field: tool.x. Did you mean *tool*?", "tool:1"],
  [
    "localhost:3000 a",
    'Unknown field: localhost. To look for this text, write *"localhost:3000"*',
    '"localhost:3000" a',
  ],
  ["(zzzzzz:1)", 'Unknown field: zzzzzz. To look for this text, write *"zzzzzz:1"*', '("zzzzzz:1")'],
  ["zzzzzz~/a b/", 'Unknown field: zzzzzz. To look for this text, write *"zzzzzz~/a b/"*', '"zzzzzz~/a b/"'],
  ["is:refusd", "A row is never refusd. Did you mean *refused*?", "is:refused"],
  ["dir:sideways", "dir is never sideways. It is one of up, down", null],
  ["kind:response,request", "kind is never response. Did you mean *result*?", "kind:result,request"],
  ["bytes>1000", "bytes: 1000 has no unit. Did you mean *1000B*?", "bytes>1000B"],
  ["latency:5..10ms", "latency: 5 has no unit. Did you mean *5ms*?", "latency:5ms..10ms"],
  ["latency>5sec", "latency: sec is not a unit. Did you mean *5s*?", "latency>5s"],
  ["latency>5parsec", "latency: parsec is not a unit: the units are ms, s, m, h", null],
  ["latency>-5ms", "latency: -5ms is less than nothing. Did you mean *5ms*?", "latency>5ms"],
  ["latency>fast", "latency: fast is not a number such as 50ms", null],
  [`bytes>${"9".repeat(50)}GB`, `bytes: ${"9".repeat(50)}GB is too large`, null],
  ["code:5ms", "code: ms cannot follow a plain number. Did you mean *5*?", "code:5"],
  ["latency:5ms..1ms", "The range ends before it begins. Did you mean *1ms..5ms*?", "latency:1ms..5ms"],
  ["time:-5m..-10m", "The range ends before it begins. Did you mean *-10m..-5m*?", "time:-10m..-5m"],
  ["latency:..5ms", "A range has two ends. Did you mean *latency<=5ms*?", "latency<=5ms"],
  ["latency:5ms..", "A range has two ends. Did you mean *latency>=5ms*?", "latency>=5ms"],
  ["latency:>5ms", ": and > are two operators. Did you mean *latency>5ms*?", "latency>5ms"],
  ["latency>5ms,6ms", "> takes one amount: a list goes with :", null],
  ["time:-10m", "-10m is one moment. Did you mean *time>-10m*?", "time>-10m"],
  ["time>10m", "time: 10m is not a time. Did you mean *-10m*?", "time>-10m"],
  ["time>-10", "time: -10 has no unit. Did you mean *-10m*?", "time>-10m"],
  ["time:2026-02-30", "time: 2026-02-30 is not a time such as 12:04, -10m or 2026-11-16T12:00Z", null],
  ["time:24:00", "time: 24:00 is not a time such as 12:04, -10m or 2026-11-16T12:00Z", null],
  ["tool>5", "tool is text: > compares amounts such as latency", null],
  ["verdict<deny", "verdict is a word: < compares amounts such as latency", null],
  ["tool==a", "== is written as *=*", "tool=a"],
  ["code==5", "== is written as *=*", "code=5"],
  ["verdict~/x/", "verdict is not text: ~ looks for a pattern in text", null],
  ["tool~read", "A pattern stands between slashes. Did you mean */read/*?", "tool~/read/"],
  ["tool~", "Nothing after tool~", null],
  ["arg.path~/^/etc/", "A / in a pattern stands behind a \\. Did you mean */^\\/etc/*?", "arg.path~/^\\/etc/"],
  ["~/^/etc", "A / in a pattern stands behind a \\. Did you mean */^\\/etc/*?", "~/^\\/etc/"],
  ["~/a", "This / is never closed", "~/a/"],
  ["~/a/gi", "Only i may follow a pattern, not gi", "~/a/i"],
  ["~/a)/", "Not a pattern: unexpected ) at 2", null],
  ["~/[a/", "Not a pattern: missing ] at 3", null],
  ["~/ab*+*/", "Not a pattern: two repetitions in a row: *+ at 3", null],
  ["~/*a/", "Not a pattern: nothing is repeated by * at 1", null],
  ["~/a(?=b)/", "Not a pattern: RE2 has no lookahead (?= at 2", null],
  ["tool:", "Nothing after tool:", null],
  ["tool: x", "Nothing after tool:. Did you mean *tool:x*?", "tool:x"],
  ["tool: or x", "Nothing after tool:", null],
  ["tool:a,", "Nothing after ,", "tool:a"],
  ["tool:(a or b)", "tool: takes values with commas between them. Did you mean *tool:a,b*?", "tool:a,b"],
  ["tool:a(b)", 'Text with ( in it stands in quotes. Did you mean *"a(b)"*?', 'tool:"a(b)"'],
  ["foo(bar)", 'Text with ( in it stands in quotes. Did you mean *"foo(bar)"*?', '"foo(bar)"'],
  ["(foo,bar)", 'Text with , in it stands in quotes. Did you mean *"foo,bar"*?', '("foo,bar")'],
  ['"a"b', 'A space is missing after this "', '"a" b'],
  ['tool:"a"b', 'A space is missing after this "', 'tool:"a" b'],
  ["tool:write_*", "A * is not a wildcard. Did you mean *write_*?", "tool:write_"],
  ["tool=write_*", "A * is not a wildcard. Did you mean *tool~/^write_/*?", "tool~/^write_/"],
  ["tool!=*", "A * is not a wildcard. Did you mean *-tool:**?", "-tool:*"],
  ["tool:a,b*c", "A * is not a wildcard", null],
  ["read*", "A * is not a wildcard. *read* is found anywhere", "read"],
  ["a *", 'A * is not a wildcard. To look for this text, write *"*"*', 'a "*"'],
  ["latency > 50ms", "> stands without spaces: *latency>50ms*", "latency>50ms"],
  ["latency >50ms", "> stands without spaces: *latency>50ms*", "latency>50ms"],
  ["not tool:x", "not is written as *-*", "-tool:x"],
  ["not(a)", "not is written as *-*", "-(a)"],
  ["NOT a", "NOT is written as *-*", "-a"],
  ["!tool:x", "! is written as *-*", "-tool:x"],
  ["!(a)", "! is written as *-*", "-(a)"],
  ["a || b", "|| is written as *or*", "a or b"],
  ["a && b", "&& is written as *and*", "a and b"],
  ["--force", 'To look for this text, write *"--force"*', '"--force"'],
  ["a -", "Nothing after -", "a "],
  ["or a", "Nothing before or", "a"],
  ["a and", "Nothing after and", "a"],
  ["a or or b", "Nothing after or", "a or b"],
  ["a )", "This ) was never opened", "a "],
  ["a ()", "Nothing in ()", "a "],
  ["arg.a[*]:x", "A field has no wildcards. Write the index or the key", null],
  ["arg.__proto__:x", "__proto__ cannot be part of a field. Take it out", null],
];

describe("a mistake is told, with the place and where possible the fix:", () => {
  test.each(MISTAKES)("%s", (typed, said, fixed) => {
    const { filter, mistakes } = parseFilter(typed, { patterns });
    expect(filter).toBeNull();
    expect(mistakes).toHaveLength(1);
    const [{ message, fix, start, end }] = mistakes;
    const label = fix?.label ?? null;
    const marked =
      label === null
        ? message
        : `${message.slice(0, label.start)}*${message.slice(label.start, label.end)}*${message.slice(label.end)}`;
    expect(marked).toBe(said);
    expect(fix === null ? null : applyFix(typed, fix)).toBe(fixed);
    expect(start).toBeGreaterThanOrEqual(0);
    expect(end).toBeGreaterThan(start);
    expect(end).toBeLessThanOrEqual(typed.length + 1);
  });

  test.each(MISTAKES.filter(([, , fixed]) => fixed !== null && fixed !== "time:-10m"))(
    "mending %s is enough",
    (typed) => {
      const [{ fix }] = parseFilter(typed, { patterns }).mistakes;
      expect(parseFilter(applyFix(typed, fix as NonNullable<typeof fix>), { patterns }).mistakes).toEqual([]);
    },
  );
});

test("all mistakes are told at once, in the order of their places", () => {
  const text = 'tol:x verdict:block (latency>50 or arg..a:1 "open';
  const { mistakes } = parseFilter(text, { patterns });
  expect(mistakes.map(({ start, end }) => text.slice(start, end))).toEqual(["tol", "block", "(", "50", ".", '"']);
});

test("without an engine patterns are taken as they are, and the filter says that it needs one", () => {
  expect(parseFilter("tool~/(a/").filter).not.toBeNull();
  expect(hasPattern(filterOf("a -(b or tool~/x/)"))).toBe(true);
  expect(hasPattern(filterOf("a -(b or tool:x)"))).toBe(false);
});

function nested(depth: number): string {
  return `${"(".repeat(depth)}a${")".repeat(depth)}`;
}

describe("what can grow is bounded", () => {
  test("the text", () => {
    expect(parseFilter("a".repeat(MAX_FILTER_CHARACTERS)).filter).not.toBeNull();
    const { filter, mistakes } = parseFilter("a".repeat(MAX_FILTER_CHARACTERS + 1));
    expect(filter).toBeNull();
    expect(mistakes[0].message).toBe("The filter has 4097 characters: only 4096 are read");
  });

  test("the terms, and each value of a list is one", () => {
    expect(parseFilter("a ".repeat(MAX_TERMS)).filter).not.toBeNull();
    const list = `tool:${Array.from({ length: MAX_TERMS }, () => "a").join(",")}`;
    expect(parseFilter(list).filter).not.toBeNull();
    for (const text of ["a ".repeat(MAX_TERMS + 1), `${list},a`, `${list} a`]) {
      expect(parseFilter(text).mistakes.map(({ message }) => message)).toEqual(["The filter has more than 256 terms"]);
    }
  });

  test("the brackets", () => {
    expect(parseFilter(nested(MAX_DEPTH)).filter).not.toBeNull();
    expect(parseFilter(nested(MAX_DEPTH + 1)).mistakes[0].message).toBe("Brackets are nested more than 32 deep");
    expect(parseFilter("-(".repeat(2000)).mistakes).toHaveLength(1);
  });
});
