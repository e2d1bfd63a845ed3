import { showText } from "../message/text.ts";
import { nearest } from "../text/nearest.ts";
import { type Entry, kindOf, type MapNode, type Node, type NodeKind } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import { type JsonSchema, type Key, MISSING, type Shape } from "./shape.ts";
import { repeated, wrongKind } from "./values.ts";

/** Converts a key of the policy file (`like_this`) to a property name (`likeThis`). */
type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** The values read from a map with these keys. */
export type Values<K> = { readonly [P in keyof K & string as Camel<P>]: K[P] extends Key<infer T> ? T : never };

/** A map with known keys. */
export interface MapShape<T> extends Shape<T> {
  /** The value if the whole map is missing. Only for maps without required keys. */
  readonly defaults: T;
}

/** Suggestions for unknown names, by name. */
export type Meanings = Readonly<Record<string, string>>;

/** A map with these keys and no others. */
export function map<K extends Readonly<Record<string, Key<unknown>>>>(
  keys: K,
  what = "a map of keys",
  meanings: Meanings = {},
): MapShape<Values<K>> {
  const names = Object.keys(keys);
  const usable = names.filter((name) => !keys[name].isLater);
  const known = new Map(names.map((name, nth) => [name, { ...keys[name], property: camel(name), bit: 1 << nth }]));
  const required = [...known].filter(([, { fallback }]) => fallback === MISSING);
  const needed = required.reduce((bits, [, { bit }]) => bits | bit, 0);
  // All properties exist from the start, so that all values of a shape have the same hidden class in V8 and are fast to
  // fill.
  const blank: Record<string, unknown> = {};
  for (const { fallback, property } of known.values()) blank[property] = fallback === MISSING ? undefined : fallback;

  function read(node: Node, page: Page): Values<K> | Wrong {
    if (node.kind !== "map") {
      const suggestion = `It needs ${required.map(([name]) => name).join(" and ")}`;
      return wrongKind(node, page, what, required.length > 0 ? suggestion : null);
    }
    const values = { ...blank };
    let seen = 0;
    let isRight = true;
    for (const entry of node.entries) {
      const key = known.get(entry.name);
      if (key === undefined) isRight = reportUnknown(page, entry, "key", usable, meanings);
      else if ((seen & key.bit) !== 0) isRight = repeated(page, node, entry);
      else {
        seen |= key.bit;
        page.path.push(entry.name);
        const value = key.isLater ? reportLater(page, entry) : key.shape.read(entry.value, page);
        page.path.pop();
        if (value === WRONG) isRight = false;
        else values[key.property] = value;
      }
    }
    if ((seen & needed) === needed) return isRight ? (values as Values<K>) : WRONG;
    const owner = page.path.length === 0 ? "" : `${page.name()}: `;
    for (const [name, { bit, shape }] of required) {
      if ((seen & bit) !== 0) continue;
      page.wrong(headOf(node), "missing-key", `${owner}${name} is missing`, `Add ${name}: ${shape.what}`);
    }
    return WRONG;
  }

  return {
    what,
    read,
    schema: () => ({
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, describeKey(name, keys[name])])),
      additionalProperties: false,
      ...(required.length === 0 ? {} : { required: required.map(([name]) => name) }),
    }),
    defaults: Object.freeze({ ...blank }) as Values<K>,
  };
}

/** A key in the JSON Schema: the schema of its value, with a description. */
function describeKey(name: string, { shape, help, fallback, isLater }: Key<unknown>): JsonSchema {
  const schema = shape.schema();
  const kinds = Array.isArray(schema["enum"]) ? schema["enum"].map((each) => typeof each) : [schema["type"]];
  // Some values are stored in another form than they are written, durations for example.
  const isAsWritten = kinds.includes(
    typeof fallback === "number" && schema["type"] === "integer" ? "integer" : typeof fallback,
  );
  return {
    title: name,
    ...schema,
    description: isLater ? `${help} Not in this version yet.` : help,
    ...(isAsWritten && !isLater ? { default: fallback } : {}),
  };
}

/** Reports a key or clause that is reserved for a later version. */
export function reportLater(page: Page, entry: Entry): Wrong {
  return page.wrong(entry, "not-yet", `${entry.name} is not in this version yet`, "Take it out");
}

/** Reports an unknown key. The suggestion comes from `meanings`, or else is the most similar name. Returns false. */
export function reportUnknown(
  page: Page,
  entry: Entry,
  noun: string,
  names: readonly string[],
  meanings: Meanings = {},
): false {
  const { name, value } = entry;
  const meaning = Object.hasOwn(meanings, name) ? meanings[name] : null;
  const hint = page.isFull() || meaning !== null ? null : nearest(name, names);
  const shown = showText(name, 60);
  // It may be a misspelt key whose value is a secret.
  if (value.kind === "scalar" && /header|env|auth|secret|token|password|key/i.test(`${name} ${hint}`))
    page.source.hide(value);
  const all = names.length <= 40 ? `Known here: ${names.join(", ")}` : null;
  const suggestion =
    name === "<<"
      ? "Merge keys are not part of YAML 1.2: write the keys out"
      : (meaning ?? (hint === null ? all : `Did you mean ${hint}?`));
  page.wrong(entry, "unknown-key", `Unknown ${noun}: ${shown}`, suggestion);
  return false;
}

/** A list of values of one shape. */
export function list<T>(item: Shape<T>, { min = 0, max = 100_000 } = {}): Shape<readonly T[]> {
  const what = `a list, each ${item.what}`;
  return {
    what,
    read(node, page) {
      if (node.kind !== "list") {
        const isItem = node.kind === "scalar" && node.value !== null;
        return wrongKind(
          node,
          page,
          "a list",
          isItem ? `Put it in brackets: [${page.source.quote(node)}]` : "Begin each item with a dash",
        );
      }
      const { length } = node;
      if (length < min) return page.wrong(node, "wrong-value", `${page.name()} is empty`, `It is ${what}`);
      if (length > max) {
        return page.wrong(node, "too-large", `${page.name()} has ${length} items, and may have ${max}`);
      }
      const values: T[] = [];
      const at = page.path.push(0) - 1;
      for (let index = 0; index < length; index++) {
        page.path[at] = index;
        const value = item.read(node.item(index), page);
        if (value !== WRONG) values.push(value);
      }
      page.path.pop();
      return values.length === length ? values : WRONG;
    },
    schema: () => ({ type: "array", items: item.schema(), ...(min > 0 ? { minItems: min } : {}) }),
  };
}

/** A map with free names and values of one shape. */
export function record<T>(
  value: Shape<T>,
  {
    what,
    checkName = () => true,
  }: { readonly what: string; readonly checkName?: (entry: Entry, page: Page) => boolean },
): Shape<ReadonlyMap<string, T>> {
  return {
    what,
    read(node, page) {
      if (node.kind !== "map") return wrongKind(node, page, what);
      const values = new Map<string, T>();
      const seen = new Set<string>();
      let isRight = true;
      for (const entry of node.entries) {
        if (seen.has(entry.name)) isRight = repeated(page, node, entry);
        else if (!checkName(entry, page)) isRight = false;
        else {
          page.path.push(entry.name);
          const read = value.read(entry.value, page);
          page.path.pop();
          if (read === WRONG) isRight = false;
          else values.set(entry.name, read);
        }
        seen.add(entry.name);
      }
      return isRight ? values : WRONG;
    },
    schema: () => ({ type: "object", additionalProperties: value.schema() }),
  };
}

/** A different shape for each kind of value. */
export function byKind<T>(shapes: Readonly<Partial<Record<NodeKind, Shape<T>>>>, what: string): Shape<T> {
  return {
    what,
    read(node, page) {
      const shape = shapes[kindOf(node)];
      return shape === undefined ? wrongKind(node, page, what) : shape.read(node, page);
    },
    schema: () => ({ anyOf: [...new Set(Object.values(shapes))].map((shape) => shape.schema()) }),
  };
}

/** The range of the first key of a map, which is where a missing key is reported. */
export function headOf(node: MapNode): { readonly start: number; readonly end: number } {
  return node.entries[0] ?? node;
}

function camel(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
