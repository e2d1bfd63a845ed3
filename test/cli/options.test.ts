import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { composeHelp } from "../../src/cli/help.ts";
import { parseCommandLine } from "../../src/cli/options.ts";
import { readEnvironment, readPatterns, readTime } from "../../src/cli/settings.ts";

const parse = (...args: string[]) => parseCommandLine(args, COMMANDS[0]);
const message = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    const { message: first, remedy } = error as { message: string; remedy: string };
    return `${first} | ${remedy}`;
  }
  return "no error";
};

test("values follow their option or an equals sign, and what comes after two dashes is left alone", () => {
  const parsed = parse("--deny", "^a,b", "--deny=c", "--log-level=debug", "--", "npx", "--deny", "x");
  expect(parsed.values.get("deny")).toEqual(["^a,b", "c"]);
  expect(parsed.values.get("log-level")).toEqual(["debug"]);
  expect(parsed.rest).toEqual(["npx", "--deny", "x"]);
});

test("an option may take the words behind it: none, one or several", () => {
  const tools = COMMANDS.find(({ name }) => name === "tools") ?? COMMANDS[0];
  const accepted = (...args: string[]) => parseCommandLine(args, tools).values.get("accept");
  expect(accepted("--accept", "--", "npx", "x")).toEqual([]);
  expect(accepted("--accept", "a", "b", "--pin", "f", "--", "npx")).toEqual(["a", "b"]);
  expect(accepted("--accept=--a", "b", "--accept", "c", "--", "npx")).toEqual(["--a", "b", "c"]);
  expect(accepted("--pin", "f", "--", "npx")).toBeUndefined();
  expect(message(() => parseCommandLine(["--pin", "f", "a", "--", "npx"], tools))).toContain("Unexpected word: a");
});

test("a value may begin with a dash", () => {
  expect(parse("--deny", "-x").values.get("deny")).toEqual(["-x"]);
  expect(parse("--deny=--x").values.get("deny")).toEqual(["--x"]);
});

test("mistakes name the nearest thing that would have been right", () => {
  expect(message(() => parse("--dney", "x"))).toBe("Unknown option: --dney | Did you mean --deny?");
  expect(message(() => parse("--log_level=x"))).toBe("Unknown option: --log_level | Did you mean --log-level?");
  expect(message(() => parse("--zzzzzzzz"))).toBe("Unknown option: --zzzzzzzz | See fairlead help");
  expect(message(() => parse("--log-level", "wran"))).toBe(
    'Option --log-level cannot be "wran" | It is one of: error, warn, info, debug. Did you mean warn?',
  );
  expect(message(() => parse("--deny", "--"))).toBe("Option --deny needs a value | Write --deny <re,re,…>");
  expect(message(() => parse("--deny", "--allow", "x"))).toBe(
    "Option --deny needs a value | Write --deny <re,re,…>, or --deny=--allow if that is the value",
  );
  expect(message(() => parse("--help=yes"))).toBe("Option --help takes no value | Write --help");
  expect(message(() => parse("--cwd", "a", "--cwd", "b"))).toBe("Option --cwd is given twice | Give it once");
});

test("a value that says nothing is a mistake: a filter of no patterns would hide nothing", () => {
  const empty = '--deny cannot be "" | Write --deny <re,re,…>';
  expect(message(() => parse("--deny", ""))).toBe(`Option ${empty}`);
  expect(message(() => parse("--deny="))).toBe(`Option ${empty}`);
  expect(message(() => parse("--cwd", " "))).toBe('Option --cwd cannot be " " | Write --cwd <dir>');
  for (const list of ["deny", "allow"] as const) {
    expect(message(() => readPatterns(parse(`--${list}`, " , "), list))).toBe(
      `Option --${list} cannot be " , " | Write --${list} <re,re,…>`,
    );
  }
});

const time = (text: string) => readTime(parse("--tools-timeout", text), "tools-timeout");

test("durations are positive and have a unit", () => {
  expect([time("500ms"), time("10s"), time("1.5s"), time("2m"), time("1h")]).toEqual([
    500, 10_000, 1500, 120_000, 3_600_000,
  ]);
  for (const text of ["0s", "-1s", "10", "soon", "99999999999s", "1h30m"]) {
    expect(message(() => time(text))).toBe(
      `Not a positive duration: --tools-timeout ${text} | ` +
        "Write a number and a unit (ms, s, m or h), such as --tools-timeout 10s",
    );
  }
});

test("variables are split at their first equals sign", () => {
  expect(readEnvironment(parse("--env", "A=b=c", "--env", "D="))).toEqual(
    new Map([
      ["A", "b=c"],
      ["D", ""],
    ]),
  );
  expect(message(() => readEnvironment(parse("--env", "=x")))).toContain("Not a variable");
});

test("the help of every command fits a terminal and names all its options", () => {
  for (const command of COMMANDS) {
    const help = composeHelp(command);
    for (const option of command.options) expect(help).toContain(`--${option.name}`);
    expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  }
});
