import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { completeFilter } from "../../src/filter/complete.ts";
import { FIELDS } from "../../src/filter/fields.ts";
import { runs } from "../support/runs.ts";

/** What is known of the place where the bar is. */
function at(marked: string) {
  const cursor = marked.indexOf("|");
  const text = marked.replace("|", "");
  const { at: where, start, end, typed, field, offers } = completeFilter(text, cursor);
  return {
    where,
    replaces: text.slice(start, end),
    typed,
    field: field?.name ?? null,
    offers: offers.map((offer) => offer.text),
  };
}

const ALL = FIELDS.map(({ name }) => name);

describe("at the bar", () => {
  test.each<[string, string, string, string, string | null, readonly string[]]>([
    ["|", "field", "", "", null, ALL],
    ["tool:a |", "field", "", "", null, ALL],
    ["(|", "field", "", "", null, ALL],
    ["-|", "field", "", "", null, ALL],
    ["cl|", "field", "cl", "cl", null, ["client", "class"]],
    ["cl|ient:x", "field", "client", "cl", null, ["client", "class"]],
    ["a or i|", "field", "i", "i", null, ["identity", "id", "is"]],
    ["arg.pa|", "field", "arg.pa", "arg.pa", "arg", []],
    ["tool|", "operator", "", "", "tool", [":", "=", "!=", "~", ":*"]],
    ["-latency|", "operator", "", "", "latency", [">", ">=", "<", "<=", ":", ":*"]],
    ["verdict:|", "value", "", "", "verdict", ["pass", "deny", "drop", "hide", "edit", "change", "reply", "hold"]],
    ["verdict:d|eny a", "value", "deny", "d", "verdict", ["deny", "drop"]],
    ["is:open,c|", "value", "c", "c", "is", ["changed", "cancelled"]],
    ["is:open,|", "value", "", "", "is", FIELDS.find(({ name }) => name === "is")?.words.map(({ name }) => name) ?? []],
    ["latency>50|", "value", "50", "50", "latency", ["50ms", "50s", "50m", "50h"]],
    ["time>-10|", "value", "-10", "-10", "time", ["-10ms", "-10s", "-10m", "-10h", "-10d"]],
    ["tool:re|ad x", "value", "read", "re", "tool", []],
    ['tool:"re|ad" x', "value", '"read"', "re", "tool", []],
    ['tool:"a b|', "value", '"a b', "a b", "tool", []],
    ["tool~/a|", "nothing", "/a", "/a", null, []],
    ['"any te|', "nothing", '"any te', '"any te', null, []],
  ])("of %s", (text, where, replaces, typed, field, offers) => {
    expect(at(text)).toEqual({ where, replaces, typed, field, offers });
  });
});

test("every place of every text has an answer, and what is replaced is around the cursor", () => {
  const piece = fc.constantFrom(
    "tool",
    "is",
    ":",
    "~/",
    '"',
    "(",
    ")",
    " ",
    ",",
    "-",
    "or ",
    "x",
    "latency>",
    "5",
    "arg.",
    "\\",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(), (pieces, place) => {
      const text = pieces.join("");
      const cursor = place % (text.length + 1);
      const { start, end } = completeFilter(text, cursor);
      expect(start <= cursor && cursor <= end && end <= text.length).toBe(true);
    }),
    { numRuns: runs(1000) },
  );
});
