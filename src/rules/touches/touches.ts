import { leadsTo, type Target } from "./leads.ts";
import { type Budget, Spent, spendSteps } from "./names.ts";
import { readTouchGlob, readTouchPath, type TouchPattern } from "./patterns.ts";
import { type Place, placesOf } from "./places.ts";
import { decodings } from "./readings.ts";
import { eachWord, SEPARATORS, type Word } from "./words.ts";

/** The budget of all `touches` conditions for one message, in characters read and names compared. */
export const MAX_TOUCH_STEPS = 4 * 2 ** 20;

/** The cost of finding the places of a word: per word, and per character. */
const WORD_STEPS = 50;
const CHARACTER_STEPS = 4;

/** How many words without a match are remembered for one message, because most words occur more than once. */
const MAX_KNOWN_WORDS = 10_000;

/** What was found in a text: the word that may match, or why that cannot be told. */
export type Touch = { readonly word: string } | { readonly doubt: string };

/** Searches the strings of one message, one after another. */
export interface TouchSearch {
  /**
   * What a string touches; null for nothing. `mayBeAlone` says whether a plain word that is the whole string is a path.
   */
  look(text: string, mayBeAlone: boolean): Touch | null;
}

/**
 * Creates searches for strings that contain a path or URI which may be one of these paths, be below one, or match a
 * glob.
 */
export function createTouchTest(paths: readonly string[], globs: readonly string[]): (budget: Budget) => TouchSearch {
  const read = [...paths.map(readTouchPath), ...globs.map(readTouchGlob)];
  const aims = read.flatMap((found) => (Array.isArray(found) ? found : [])).map(aimAt);
  const needles = needlesOf(aims);
  const isOdd = aims.some(({ pattern }) => pattern.names.some(({ text }) => SEPARATORS.test(text)));
  const isWorthIt = (text: string): boolean => needles.test(text);
  return (budget) => {
    // Plain words seen so far that may be names, and directories seen so far that such names may be in.
    const words = new Map<Aim, string>();
    const parents = new Set<Aim>();
    const known = new Set<string>();

    /** The matching word, if this place matches the aim, alone or together with what was seen before. */
    function lookAt(aim: Aim, place: Place, word: string): string | null {
      if (leadsTo(aim.pattern, place, budget)) return word;
      if (aim.parent === null) return null;
      if (place.isBare && place.names[0].text === aim.pattern.bare?.word) words.set(aim, word);
      if (isParent(aim.parent, place, budget)) parents.add(aim);
      return parents.has(aim) ? (words.get(aim) ?? null) : null;
    }

    function lookAtWord({ text, isWhole }: Word): string | null {
      if ((!isWhole && known.has(text)) || !isWorthIt(text)) return null;
      spendSteps(budget, WORD_STEPS + CHARACTER_STEPS * text.length);
      const near = aims.filter(({ isNear }) => isNear(text));
      const noted = words.size + parents.size;
      if (near.length > 0) {
        for (const place of placesOf({ text, isWhole }, isWorthIt)) {
          for (const aim of near) {
            const found = lookAt(aim, place, text);
            if (found !== null) return found;
          }
        }
      }
      if (!isWhole && noted === words.size + parents.size && known.size < MAX_KNOWN_WORDS) known.add(text);
      return null;
    }

    return {
      look(text, mayBeAlone) {
        try {
          for (const decoded of decodings(text, budget)) {
            let found: string | null = null;
            if (ROOT.test(decoded)) for (const aim of aims) found ??= lookAt(aim, AT_ROOT, "/");
            eachWord(decoded, isOdd, budget, (word) => {
              found ??= lookAtWord(mayBeAlone || !word.isWhole ? word : { ...word, isWhole: false });
            });
            if (found !== null) return { word: found };
          }
          return null;
        } catch (error) {
          if (error instanceof Spent) return { doubt: "it takes too long to look through" };
          throw error;
        }
      },
    };
  };
}

/** A pattern, with data for quick checks. */
interface Aim {
  readonly pattern: TouchPattern;
  /** The directory in which a plain word would match. */
  readonly parent: Target | null;
  readonly needles: readonly string[];
  /** Cheap check whether a word may match at all. */
  isNear(word: string): boolean;
}

function aimAt(pattern: TouchPattern): Aim {
  const { bare, needle, start } = pattern;
  const parent: Target | null = bare === null ? null : { ...bare.parent, isHome: false, isExact: true };
  const last = parent?.names.findLast(({ isWild }) => !isWild)?.text;
  const needles = last === undefined ? [needle] : [needle, last];
  return {
    pattern,
    parent,
    needles,
    isNear: (word) => {
      for (const one of needles) if (word.includes(one)) return true;
      return FAR_REACHING.test(word) || (start === "web" && word.includes("//"));
    },
  };
}

// Wildcards, a Windows short name, and a home directory alone.
const FAR_REACHING = /[\uE000-\uE003]|~\d|^~[^/]*\/?$/;

function isParent(parent: Target, place: Place, budget: Budget): boolean {
  if (parent.names.length > 0) return leadsTo(parent, place, budget);
  return place.start === parent.start && place.names.length === 0;
}

// A slash alone may also mean "or". It is a directory after a command such as `cd`, or if it is the whole text.
const ROOT = /(?:^\s*|\b(?:cd|chdir|pushd|set-location)\s+)[/\\]\s*(?:$|[;&|)])/;
const AT_ROOT: Place = { start: "root", drive: null, names: [], isBare: false };

/** A pattern that finds all words worth a closer check in one pass. */
function needlesOf(aims: readonly Aim[]): RegExp {
  const needles = [...new Set(aims.flatMap((aim) => aim.needles))];
  const plain = needles.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
  const links = aims.some(({ pattern }) => pattern.start === "web") ? ["//"] : [];
  return new RegExp([...plain, FAR_REACHING.source, ...links].join("|"));
}
