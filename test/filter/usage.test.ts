import { describe, expect, test } from "vitest";
import { applyFix } from "../../src/filter/mistake.ts";
import { checkUsage } from "../../src/filter/usage.ts";
import { filterOf } from "./support.ts";

const said = (text: string): string[] => checkUsage(filterOf(text), "breakpoint").map(({ message }) => message);

test("a request that is stopped has no answer yet", () => {
  const [mistake, ...others] = checkUsage(filterOf("latency>1s"), "breakpoint");
  expect(others).toEqual([]);
  const { message, fix, start, end } = mistake;
  expect(message).toBe("latency is not known when a request is stopped. dir:down stops answers");
  expect([start, end]).toEqual([0, 10]);
  expect(message.slice(fix?.label?.start, fix?.label?.end)).toBe("dir:down");
  expect(applyFix("latency>1s", fix as never)).toBe("dir:down latency>1s");
});

describe("a breakpoint", () => {
  test.each([
    ["latency>1s or tool:a", "dir:down (latency>1s or tool:a)"],
    ["dir:up latency>1s", "dir:down latency>1s"],
    ["tool:a result.isError:true", "dir:down tool:a result.isError:true"],
  ])("%s is mended to %s", (text, wanted) => {
    const [{ fix }] = checkUsage(filterOf(text), "breakpoint");
    const fixed = applyFix(text, fix as never);
    expect(fixed).toBe(wanted);
    expect(said(fixed)).toEqual([]);
  });

  test.each([
    ["tool:write arg.path:/etc -client:cursor", []],
    ["dir:down is:error,slow code:-32603", []],
    ["is:error", ["is:error is not known when a request is stopped. dir:down stops answers"]],
    ["is:slow,refused dir:down", ["is:refused is not known before a stopped message has been decided"]],
    ["verdict:deny", ["verdict is not known before a stopped message has been decided"]],
    ["time>-10m", ["time is always now when a message is stopped"]],
    [
      "result.content[0].text:x",
      ["result.content[0].text is not known when a request is stopped. dir:down stops answers"],
    ],
    ["word", []],
  ])("%s", (text, wanted) => {
    expect(said(text)).toEqual(wanted);
  });
});

test("what a second policy decides is known where one judges", () => {
  const filter = filterOf("tool:a is:flipped");
  expect(checkUsage(filter, "history")).toEqual([]);
  expect(checkUsage(filter, "live").map(({ message }) => message)).toEqual([
    "is:flipped is known in History, where a second policy judges",
  ]);
  expect(checkUsage(filterOf("latency>1s"), "live")).toEqual([]);
});
