import { createHash } from "node:crypto";
import { canonicalText } from "../message/canonical.ts";
import { hasOddText } from "./odd-text.ts";

/** The accepted tools of one server: the hash of each definition, by name. */
export type Pins = ReadonlyMap<string, Pin>;

/** The hash of a definition. Several if a server describes the tool differently in each era. */
export type Pin = string | readonly string[];

/** A tool as its server describes it, in validated JSON. */
export interface Definition {
  readonly name: string;
  readonly raw: Buffer;
}

/** A tool, compared with its pin. */
export interface PinnedTool {
  readonly name: string;
  readonly state: PinState;
  /** Its former name, if it was renamed. */
  readonly formerly: string | null;
  /** Whether its definition contains text that a person does not see as a model does. */
  readonly isOdd: boolean;
}

/** How a tool compares with the pins: the same definition, another one, an unknown tool, or known by another name. */
export type PinState = "unchanged" | "changed" | "new" | "renamed";

/** A list of tools, compared with the pins. */
export interface PinComparison {
  /** In the order of the list, each name once. */
  readonly tools: readonly PinnedTool[];
  /** Names that have a pin and are not listed any more. */
  readonly gone: readonly string[];
}

/** Compares a whole list with the pins. */
export function comparePins(pins: Pins, definitions: readonly Definition[]): PinComparison {
  const listed = gather(definitions);
  const gone = [...pins.keys()].filter((name) => !listed.has(name));
  // Each name that is gone can be the former name of at most one new tool.
  const former = new Map<string, string[]>();
  for (const name of gone) {
    for (const hash of hashesOf(pins.get(name))) {
      const names = former.get(hash);
      if (names === undefined) former.set(hash, [name]);
      else names.push(name);
    }
  }
  const tools = Array.from(listed, ([name, { hashes, isOdd }]): PinnedTool => {
    const [hash, ...others] = hashes;
    const pinned = pins.get(name);
    // A tool that is listed twice with different definitions counts as changed: clients may use either one.
    if (pinned !== undefined) {
      const isSame = hashesOf(pinned).includes(hash) && others.length === 0;
      return { name, state: isSame ? "unchanged" : "changed", formerly: null, isOdd };
    }
    const formerly = others.length > 0 ? undefined : former.get(hash)?.shift();
    return { name, state: formerly === undefined ? "new" : "renamed", formerly: formerly ?? null, isOdd };
  });
  const renamed = new Set(tools.map(({ formerly }) => formerly));
  return { tools, gone: gone.filter((name) => !renamed.has(name)) };
}

/**
 * The pins after all lists of a server were accepted, one list for each era. A name that one list has with two
 * definitions gets no pin.
 */
export function acceptAll(...lists: readonly (readonly Definition[])[]): Pins {
  const pins = new Map<string, Set<string>>();
  const doubtful = new Set<string>();
  for (const list of lists) {
    for (const [name, { hashes }] of gather(list)) {
      if (hashes.size > 1) doubtful.add(name);
      pins.set(name, new Set([...(pins.get(name) ?? []), ...hashes]));
    }
  }
  return new Map(
    Array.from(pins, ([name, hashes]): [string, Pin] => {
      const [hash, ...others] = hashes;
      return [name, others.length === 0 ? hash : [hash, ...others].sort()];
    }).filter(([name]) => !doubtful.has(name)),
  );
}

/**
 * The pins after some names were accepted; other pins stay. The pin of a name that is not listed any more is removed.
 */
export function acceptSome(pins: Pins, accepted: Pins, names: readonly string[]): Pins {
  const next = new Map(pins);
  for (const name of names) {
    const pin = accepted.get(name);
    if (pin === undefined) next.delete(name);
    else next.set(name, pin);
  }
  return next;
}

function hashesOf(pin: Pin | undefined): readonly string[] {
  return pin === undefined ? [] : typeof pin === "string" ? [pin] : pin;
}

/** The pins while the proxy runs. */
export interface PinBook {
  /** Increases with every change. */
  readonly version: number;
  /** Null until the first list was seen. */
  readonly pins: Pins | null;
  /** What happens to a tool that is not as it was accepted: it is hidden, or only flagged. */
  readonly onChange: "hide" | "flag";
}

/** The hash of a definition. It does not depend on the spelling of the JSON or on the name of the tool. */
export function hashDefinition(raw: Buffer): string {
  const text = canonicalText(raw, { start: 0, end: raw.length }, ["name"]);
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

interface Listed {
  readonly hashes: Set<string>;
  isOdd: boolean;
}

function gather(definitions: readonly Definition[]): Map<string, Listed> {
  const listed = new Map<string, Listed>();
  for (const { name, raw } of definitions) {
    const known = listed.get(name) ?? { hashes: new Set(), isOdd: false };
    known.hashes.add(hashDefinition(raw));
    known.isOdd ||= hasOddText(raw.toString("utf8"));
    listed.set(name, known);
  }
  return listed;
}
