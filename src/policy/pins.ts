import { createHash } from "node:crypto";
import { canonicalText } from "../message/canonical.ts";
import { hasOddText } from "./odd-text.ts";

/** What is remembered of the tools of one server: the hash of each definition, by name. */
export type Pins = ReadonlyMap<string, Pin>;

/** The hash of a definition; several where a server describes the tool in another way in each era. */
export type Pin = string | readonly string[];

/** A tool as its server describes it: JSON that has been validated. */
export interface Definition {
  readonly name: string;
  readonly raw: Buffer;
}

/** A tool, compared with what is remembered of it. */
export interface PinnedTool {
  readonly name: string;
  readonly state: PinState;
  /** What it was called, where it was renamed. */
  readonly formerly: string | null;
  /** Whether its definition holds text that a person does not see as a model does. */
  readonly isOdd: boolean;
}

/** How a tool stands to what is remembered: as it was; with another definition; never seen; seen under another name. */
export type PinState = "unchanged" | "changed" | "new" | "renamed";

/** A list of tools, compared with what is remembered. */
export interface PinComparison {
  /** In the order of the list, each name once. */
  readonly tools: readonly PinnedTool[];
  /** Names that are remembered and not listed. */
  readonly gone: readonly string[];
}

/** Compares a whole list with what is remembered. */
export function comparePins(pins: Pins, definitions: readonly Definition[]): PinComparison {
  const listed = gather(definitions);
  const gone = [...pins.keys()].filter((name) => !listed.has(name));
  // Each name that is gone explains one new one at most.
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
    // Listed twice in two versions: which one is meant is not for us to guess.
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
 * What is to be remembered once the lists of a server are accepted, one for each era: all of it, and nothing else. Of a
 * name that one list has in two versions, nothing.
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

/** The same for some names only: what else is remembered stays. A name that is not listed any more is forgotten. */
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

/** What is remembered while we run. */
export interface PinBook {
  /** Grows with every change. */
  readonly version: number;
  /** Null until a list was first seen. */
  readonly pins: Pins | null;
  /** What becomes of a tool that is not as it was accepted: it is hidden, or only flagged. */
  readonly onChange: "hide" | "flag";
}

/** The hash of a definition, whatever its spelling and whatever the tool is called. */
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
