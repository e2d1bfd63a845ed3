import { compose, foldName } from "../../message/fold.ts";
import { compilePattern, matchNames, type Pattern } from "../patterns.ts";
import { NOT_ALLOWED, NOT_CHECKED } from "../tool-filter.ts";

/** Which prompts or resources a client may see and ask for. It judges what is asked for, and needs no list. */
export interface NameFilter {
  /** Why each of these is hidden: the pattern that says so, or one of the reasons in brackets; null where it is not. */
  hiddenBy(texts: readonly string[]): (string | null)[];
}

/** The ways in which peers may read one text. */
export interface Readings {
  /** All texts that anybody could take it for, in every spelling. */
  readonly all: readonly string[];
  /** The readings one by one, each in the spellings that stand for the same. */
  readonly each: readonly (readonly string[])[];
}

/** What a filter is made of. */
export interface NameFilterOptions {
  readonly deny: readonly Pattern[];
  /** With any of these only what matches one of them is shown; `deny` still wins. */
  readonly allow: readonly Pattern[];
  /** Null where a text cannot be judged. */
  readonly read: (text: string) => Readings | null;
  /** Told when a pattern took too long on a text. */
  readonly onHang?: (pattern: string) => void;
}

/**
 * Makes a filter from checked patterns. What is denied in any reading is hidden, and what is not allowed in every one.
 * What else there is at the server is not known here, so that deny patterns are run without regard to case as well.
 */
export function createNameFilter({ deny, allow, read, onHang = () => {} }: NameFilterOptions): NameFilter {
  const denying = [...deny, ...deny.map(({ source }) => ({ source, expression: compilePattern(source, "i") }))];
  const decided = new Map<string, string | null>();
  let kept = 0; // characters

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

/** What hides a text that could be taken for anything. */
export const NOT_READABLE = "(ambiguous text)";

/** What hides a text on which a pattern did not come to an end. */
export const HANGS = "(pattern timed out)";

/** The pattern that matches a text; null where none does, HANGS or NOT_CHECKED where that was not found out. */
type Run = (text: string) => string | null;

/** What denies a text in any of its readings. A pattern that matches is more than one that was not run. */
function findMatch(denied: Run, all: readonly string[]): string | null {
  const hits = all.map(denied).filter((by) => by !== null);
  return hits.find((by) => by !== NOT_CHECKED) ?? hits[0] ?? null;
}

/** Why a text is not allowed: null where some spelling of every reading is. */
function findGap(allowed: Run, each: readonly (readonly string[])[]): string | null {
  for (const spellings of each) {
    const found = spellings.map(allowed);
    if (found.some((by) => by !== null && by !== NOT_CHECKED && by !== HANGS)) continue;
    return found.find((by) => by !== null) ?? NOT_ALLOWED;
  }
  return null;
}

/** How much of what was decided is remembered. Texts come from clients, too. */
const MAX_KEPT_CHARACTERS = 1_000_000;
const KEPT_BESIDE = 50;

/** The readings of a name: as it is, and as a careless peer may take it. */
export function readName(name: string): Readings | null {
  const folded = foldName(name);
  if (folded === null) return null;
  if (folded === name) return { all: [name], each: [[name]] };
  const composed = compose(name);
  return { all: [name, composed, folded], each: composed === name ? [[name]] : [[name], [composed]] };
}
