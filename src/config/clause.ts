import { type Meanings, reportLater, reportUnknown } from "./collections.ts";
import type { Entry } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import type { Shape } from "./shape.ts";
import { wrongKind } from "./values.ts";

/** One condition, action or transform in a table. */
export interface Clause<T> {
  readonly shape: Shape<T>;
  readonly help: string;
  /** Its value if only the name is written. */
  readonly bare?: () => T;
  readonly isLater?: boolean;
}

/** A map with exactly one key from a table. Conditions and actions are written like this. */
export function clause<T>(noun: string, table: Readonly<Record<string, Clause<T>>>, meanings: Meanings = {}): Shape<T> {
  const names = Object.keys(table);
  const usable = names.filter((name) => table[name].isLater !== true);
  const known = new Map(Object.entries(table));
  const bare = names.filter((name) => table[name].bare !== undefined);
  const what = `one ${noun}`;

  function readEntry(entry: Entry, page: Page): T | Wrong {
    const found = known.get(entry.name);
    if (found === undefined) {
      reportUnknown(page, entry, noun, usable, meanings);
      return WRONG;
    }
    if (found.isLater === true) return reportLater(page, entry);
    page.path.push(entry.name);
    const value = found.shape.read(entry.value, page);
    page.path.pop();
    return value;
  }

  return {
    what,
    read(node, page) {
      if (node.kind === "scalar" && typeof node.value === "string") {
        const meant = known.get(node.value)?.bare;
        if (meant !== undefined) return meant();
        if (!known.has(node.value)) {
          reportUnknown(
            page,
            { name: node.value, value: node, start: node.start, end: node.end },
            noun,
            usable,
            meanings,
          );
          return WRONG;
        }
        return page.wrong(
          node,
          "wrong-type",
          `${node.value} needs a value`,
          `Write ${node.value}: ${known.get(node.value)?.shape.what}`,
        );
      }
      if (node.kind !== "map")
        return wrongKind(node, page, what, `Write its name and its value, such as ${names[0]}: …`);
      if (node.entries.length === 1) return readEntry(node.entries[0], page);
      if (node.entries.length === 0)
        return page.wrong(node, "wrong-value", `There is no ${noun} here`, "Write one, or take it out");
      for (const entry of node.entries) readEntry(entry, page);
      const [, second] = node.entries;
      const isKnown = known.has(second.name);
      const suggestion = isKnown
        ? "Begin each one with a dash of its own"
        : `Indent what belongs to ${node.entries[0].name}`;
      return page.wrong(second, "wrong-value", `More than one ${noun} in one place`, suggestion);
    },
    schema: () => {
      const properties = Object.fromEntries(
        names.map((name) => {
          const { shape, help, isLater = false } = table[name];
          return [
            name,
            { title: name, ...shape.schema(), description: isLater ? `${help} Not in this version yet.` : help },
          ];
        }),
      );
      const object = { type: "object", properties, additionalProperties: false, minProperties: 1, maxProperties: 1 };
      return bare.length === 0 ? object : { anyOf: [{ enum: bare }, object] };
    },
  };
}
