import { compose, foldName } from "../../message/fold.ts";
import { compilePattern, matchNames, type Pattern } from "../patterns.ts";
import { NOT_ALLOWED, NOT_CHECKED } from "../tool-filter.ts";

/** Which prompts or resources a client may see and request. It judges names and URIs, and does not need a list. */
export interface NameFilter {
  /**
   * Why each text is hidden: the pattern that matches, or one of the constants such as NOT_ALLOWED; null if it is not.
   */
  hiddenBy(texts: readonly string[]): (string | null)[];
}

/** The ways in which peers may read one text. */
export interface Readings {
  /** All texts that a peer could read it as, in every spelling. Deny patterns are run on these. */
  readonly all: readonly string[];
  /** The readings, each with its equivalent spellings. Allow patterns are run on these. */
  readonly each: readonly (readonly string[])[];
}

/** Options of a name filter. */
export interface NameFilterOptions {
  readonly deny: readonly Pattern[];
  /** If there are any, only names that match one of them are shown. `deny` takes precedence. */
  readonly allow: readonly Pattern[];
  /** Returns the readings of a text, or null if it cannot be judged. */
  readonly read: (text: string) => Readings | null;
  /** Called when a pattern took too long on a text. */
  readonly onHang?: (pattern: string) => void;
}

/**
 * Makes a filter from checked patterns. A text is hidden if any of its readings is denied, or if any of them is
 * not allowed. The server's other names are not known here, so deny patterns are also run without regard to case.
 */
export function createNameFilter({ deny, allow, read, onHang = () => {} }: NameFilterOptions): NameFilter {
  const denying = [...deny, ...deny.map(({ source }) => ({ source, expression: compilePattern(source, "i") }))];
  const decided = new Map<string, string | null>();
  let kept = 0; // in characters

  function decide(texts: readonly string[]): Map<string, string | null> {
    const fates = new Map<string, string | null>();
    const fresh = new Map<string, Readings>();
    for (const text of new Set(texts)) {
      const known = decided.get(text);
      const readings = known === undefined ? read(text) : null;
      if (readings === null) fates.set(text, known === undefined ? NOT_READABLE : known);
      else fresh.set(text, readings);
    }
    if (fresh.size === 0) return fates;
    const denied = run(denying, fresh, ({ all }) => all);
    const allowed = allow.length === 0 ? null : run(allow, fresh, ({ each }) => each.flat());
    for (const [text, { all, each }] of fresh) {
      const by = findMatch(denied, all) ?? (allowed === null ? null : findGap(allowed, each));
      fates.set(text, by);
      if (by !== NOT_CHECKED) remember(text, by);
    }
    return fates;
  }

  function run(
    patterns: readonly Pattern[],
    fresh: ReadonlyMap<string, Readings>,
    of: (one: Readings) => readonly string[],
  ): Run {
    const texts = [...new Set([...fresh.values()].flatMap(of))];
    const { matches, reached, hung } = matchNames(patterns, texts);
    if (hung !== null) onHang(hung.source);
    const places = new Map(texts.map((text, index) => [text, index] as const));
    return (text) => {
      const index = places.get(text) ?? Infinity;
      if (index < reached) return matches[index]?.source ?? null;
      return index === reached && hung !== null ? HANGS : NOT_CHECKED;
    };
  }

  function remember(text: string, by: string | null): void {
    kept += text.length + KEPT_BESIDE;
    if (kept > MAX_KEPT_CHARACTERS) {
      decided.clear();
      kept = text.length + KEPT_BESIDE;
    }
    decided.set(text, by);
  }

  return {
    hiddenBy(texts) {
      const fates = decide(texts);
      return texts.map((text) => fates.get(text) ?? null);
    },
  };
}

/** Reason for hiding: the text has readings that cannot be resolved. */
export const NOT_READABLE = "(ambiguous text)";

/** Reason for hiding: a pattern did not finish on the text. */
export const HANGS = "(pattern timed out)";

/** The pattern that matches a text; null if none does, HANGS or NOT_CHECKED if that could not be found out. */
type Run = (text: string) => string | null;

/** What denies a text in any of its readings. A match takes precedence over NOT_CHECKED. */
function findMatch(denied: Run, all: readonly string[]): string | null {
  const hits = all.map(denied).filter((by) => by !== null);
  return hits.find((by) => by !== NOT_CHECKED) ?? hits[0] ?? null;
}

/** Why a text is not allowed. Null if every reading has a spelling that is allowed. */
function findGap(allowed: Run, each: readonly (readonly string[])[]): string | null {
  for (const spellings of each) {
    const found = spellings.map(allowed);
    if (found.some((by) => by !== null && by !== NOT_CHECKED && by !== HANGS)) continue;
    return found.find((by) => by !== null) ?? NOT_ALLOWED;
  }
  return null;
}

/** Limit for the remembered decisions, in characters. Clients choose some of the texts, so it could grow forever. */
const MAX_KEPT_CHARACTERS = 1_000_000;
const KEPT_BESIDE = 50;

/** The readings of a name: as it is, and as a careless peer may read it. Null if it is too long. */
export function readName(name: string): Readings | null {
  const folded = foldName(name);
  if (folded === null) return null;
  if (folded === name) return { all: [name], each: [[name]] };
  const composed = compose(name);
  return { all: [name, composed, folded], each: composed === name ? [[name]] : [[name], [composed]] };
}
