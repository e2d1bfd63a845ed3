import { leadsTo, type Target } from "./leads.ts";
import { type Budget, Spent, spendSteps } from "./names.ts";
import { readTouchGlob, readTouchPath, type TouchPattern } from "./patterns.ts";
import { type Place, placesOf } from "./places.ts";
import { decodings } from "./readings.ts";
import { eachWord, SEPARATORS, type Word } from "./words.ts";

/** The work that all conditions about touched files may have with one message, in characters read and names compared. */
export const MAX_TOUCH_STEPS = 4 * 2 ** 20;

/** What it takes to find the places of a word: for the word, and for each of its characters. */
const WORD_STEPS = 50;
const CHARACTER_STEPS = 4;

/** So many words without a finding are remembered while a message is looked through: most come more than once. */
const MAX_KNOWN_WORDS = 10_000;

/** What was found in a text: the word that may lead there, or why nobody can tell. */
export type Touch = { readonly word: string } | { readonly doubt: string };

/** Looks through the texts of one message, one after the other. */
export interface TouchSearch {
  /** What a text touches; null for nothing. `mayBeAlone` says whether a plain word that is the whole text is a path. */
  look(text: string, mayBeAlone: boolean): Touch | null;
}

/** Makes searches for texts with a path or URI in them that may lead to one of these paths, below it, or to what matches a glob. */
export function createTouchTest(paths: readonly string[], globs: readonly string[]): (budget: Budget) => TouchSearch {
  const read = [...paths.map(readTouchPath), ...globs.map(readTouchGlob)];
  const aims = read.flatMap((found) => (Array.isArray(found) ? found : [])).map(aimAt);
  const needles = needlesOf(aims);
  const isOdd = aims.some(({ pattern }) => pattern.names.some(({ text }) => SEPARATORS.test(text)));
  const isWorthIt = (text: string): boolean => needles.test(text);
  return (budget) => {
    // Plain words that may be names, and directories that such names may be in.
    const words = new Map<Aim, string>();
    const parents = new Set<Aim>();
    const known = new Set<string>();

    /** The word that leads to an aim, if this place or what was seen before does. */
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

/** A pattern, with what is needed to ask for it quickly. */
interface Aim {
  readonly pattern: TouchPattern;
  /** The directory in which a plain word would be it. */
  readonly parent: Target | null;
  readonly needles: readonly string[];
  /** Whether a word may have to do with it at all. */
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

// Wildcards, a short name of Windows, and a home directory by itself.
const FAR_REACHING = /[\uE000-\uE003]|~\d|^~[^/]*\/?$/;

function isParent(parent: Target, place: Place, budget: Budget): boolean {
  if (parent.names.length > 0) return leadsTo(parent, place, budget);
  return place.start === parent.start && place.names.length === 0;
}

// A slash alone is also a sign for "or": it is a directory where somebody goes there, or where nothing stands beside it.
const ROOT = /(?:^\s*|\b(?:cd|chdir|pushd|set-location)\s+)[/\\]\s*(?:$|[;&|)])/;
const AT_ROOT: Place = { start: "root", drive: null, names: [], isBare: false };

/** Finds words that are worth a closer look, in one go. */
function needlesOf(aims: readonly Aim[]): RegExp {
  const needles = [...new Set(aims.flatMap((aim) => aim.needles))];
  const plain = needles.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
  const links = aims.some(({ pattern }) => pattern.start === "web") ? ["//"] : [];
  return new RegExp([...plain, FAR_REACHING.source, ...links].join("|"));
}
