import { describe, expect, test } from "vitest";
import { type FieldDefinition, FIELDS } from "../../src/filter/fields.ts";
import { MAX_DEPTH, MAX_FILTER_CHARACTERS, MAX_TERMS } from "../../src/filter/filter.ts";
import { parseFilter } from "../../src/filter/parse.ts";
import { readBlocks, readPages } from "../support/docs.ts";
import { patterns } from "./support.ts";

const { "docs/filter.md": page } = readPages();

/** The rows of the table below a heading, cell by cell. */
function tableBelow(heading: string): string[][] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}

/** What a field holds, as the page says it. */
function holds({ name, kind, words, units }: FieldDefinition): string {
  if (name === "is") return "a state";
  if (kind === "word") return words.map((word) => `\`${word.name}\``).join(" ");
  if (kind === "text") return "text";
  if (name === "time") return "a time";
  return units.length === 0 ? "a number" : units.map((unit) => `\`${unit.name}\``).join(" ");
}

test("the page has every field with what it holds", () => {
  expect(tableBelow("Fields")).toEqual(
    FIELDS.map((field) => [`\`${field.name}${field.hasPath ? ".…" : ""}\``, holds(field), field.help]),
  );
});

test("the page has every state with what it means", () => {
  const states = FIELDS.find(({ name }) => name === "is")?.words ?? [];
  expect(tableBelow("States")).toEqual(states.map(({ name, help }) => [`\`is:${name}\``, help]));
});

describe("a filter on the page is one:", () => {
  const blocks = readBlocks().filter(({ language }) => language === "filter");
  const lines = blocks.flatMap(({ text }) => text.trimEnd().split("\n"));
  const terms = tableBelow("Terms").flatMap(([cell]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code.replaceAll("\\|", "|")),
  );
  test.each([...lines, ...terms])("%s", (text) => {
    expect(parseFilter(text, { patterns }).mistakes).toEqual([]);
  });
  test("and there are some", () => {
    expect(lines.length).toBeGreaterThan(5);
    expect(terms.length).toBeGreaterThan(10);
  });
});

describe("a mistake on the page is told as it says:", () => {
  test.each(tableBelow("Mistakes"))("%s", (written, said) => {
    const { mistakes } = parseFilter(written.slice(1, -1), { patterns });
    // Backslashes and stars are doubled or escaped for Markdown.
    expect(mistakes.map(({ message }) => message)).toEqual([said.replaceAll(/\\([\\*_<>])/g, "$1")]);
  });
});

test("the page has the bounds as they are", () => {
  const [characters, terms, depth] = [MAX_FILTER_CHARACTERS, MAX_TERMS, MAX_DEPTH].map((bound) =>
    bound.toLocaleString("en"),
  );
  expect(page).toContain(`at most ${characters} characters, ${terms} terms`);
  expect(page).toContain(`brackets ${depth} deep`);
});
