import { foldName } from "../message/fold.ts";
import type { Catalogue } from "../session/catalogue.ts";
import { hasOddText } from "./odd-text.ts";
import { compilePattern, matchNames, type Pattern } from "./patterns.ts";
import { comparePins, type Definition, type PinBook } from "./pins.ts";

/** Which tools a client may see and call. The same for the list and for the call. */
export interface ToolFilter {
  /**
   * Why a tool of this name is hidden: the pattern that says so, NOT_ALLOWED where none lets it in,
   * TOO_LONG or NOT_CHECKED where nobody can tell; null where it is not.
   */
  hiddenBy(names: readonly string[]): (string | null)[];
  /** The same for tools as they are listed: what is remembered of their definitions counts, too. NOT_ACCEPTED is what hides by that. */
  hiddenAmong(tools: readonly Definition[]): (string | null)[];
  /** The names of those that are not as they were accepted, hidden for that or not. */
  strangeAmong(tools: readonly Definition[]): ReadonlySet<string>;
  /** What a client sees of a catalogue. Computed once for each state of it. */
  view(catalogue: Catalogue): ToolView;
  /** Whether definitions are to be remembered and none is yet: then nothing is shown or called before the list is whole. */
  readonly isFirstTime: boolean;
  /** How a call of a hidden or unknown tool is answered. */
  readonly notFound: NotFound;
  /** Whether hidden names are taken out of all else that a server says. */
  readonly isStrict: boolean;
  /** The names that were listed. */
  readonly seen: SeenNames;
}

/** The names that were listed: those that were hidden when they were last, and the others. */
export interface SeenNames {
  /** Grows with every change. */
  readonly version: number;
  readonly hidden: ReadonlySet<string>;
  readonly shown: ReadonlySet<string>;
}

/** As the contract has it, as the newer revisions have it, or as the server itself would. */
export type NotFound = "contract" | "spec" | "upstream";

/** A catalogue as a client sees it. */
export interface ToolView {
  /** The names that may be called. While the list is not whole, without those that might be hidden by what comes. */
  readonly allowed: ReadonlySet<string>;
  /** The names that are hidden. */
  readonly hidden: readonly string[];
  /** The names of tools that are not as they were accepted, hidden for that or not. */
  readonly strange: ReadonlySet<string>;
  /** The names of tools that are described with text that people do not see as models do. */
  readonly odd: readonly string[];
  /** The result of `tools/list`, all pages in one: JSON text. Null while the list is not known. */
  readonly result: Buffer | null;
  /** Patterns that matched no tool at all. */
  readonly unmatched: readonly string[];
}

/** What a filter is made of. */
export interface ToolFilterOptions {
  readonly deny: readonly Pattern[];
  /** With any of these only what matches one of them is shown; `deny` still wins. */
  readonly allow: readonly Pattern[];
  /** What is remembered of definitions; null where nothing is. */
  readonly pins?: PinBook | null;
  readonly notFound?: NotFound;
  readonly isStrict?: boolean;
  /** Told when a pattern took too long on the names a server gave and was stopped. */
  readonly onHang?: (pattern: string) => void;
}

/** Makes a filter from checked patterns. */
export function createToolFilter(options: ToolFilterOptions): ToolFilter {
  const { deny, allow, notFound = "contract", isStrict = false, pins = null, onHang = () => {} } = options;
  const decided = new Map<string, string | null>();
  // A name that a careless server might take for a hidden one is hidden with it.
  const alike = new Map<string, string>();
  const loose = deny.map(({ source }) => ({ source, expression: compilePattern(source, "i") }));
  const used = new Set<Pattern>();
  let stopped = new Set<Pattern>();
  const seen = { version: 0, hidden: new Set<string>(), shown: new Set<string>() };
  const views = new WeakMap<Catalogue, { version: number; pinned: number; view: ToolView }>();

  /** Runs the patterns on names that are new. */
  function decide(names: readonly string[]): void {
    if (decided.size > MAX_DECIDED) {
      decided.clear();
      alike.clear();
    }
    const fresh = [...new Set(names)].filter((name) => !decided.has(name));
    if (fresh.length === 0) return;
    const denied = match(deny, fresh);
    const allowed = allow.length === 0 ? null : match(allow, fresh);
    fresh.forEach((name, index) => {
      const folded = foldName(name);
      const by = denied.matches[index]?.source ?? denied.suspect ?? (folded === null ? TOO_LONG : null);
      if (by !== null) {
        decided.set(name, by);
        if (folded !== null) alike.set(folded, by);
      } else if (index < Math.min(denied.reached, allowed?.reached ?? Infinity)) {
        decided.set(name, allowed !== null && allowed.matches[index] === null ? NOT_ALLOWED : null);
      }
    });
  }

  /** Matches, and for the rest of the process sets aside a pattern that did not end: a deny pattern then hides all. */
  function match(patterns: readonly Pattern[], names: readonly string[]) {
    const active = patterns.filter((pattern) => !stopped.has(pattern));
    const { matches, matched, reached, hung } = matchNames(active, names);
    for (const pattern of matched) used.add(pattern);
    if (hung !== null) {
      stopped = new Set([...stopped, hung]);
      onHang(hung.source);
    }
    const suspect = patterns === deny ? (patterns.find((pattern) => stopped.has(pattern))?.source ?? null) : null;
    return { matches, reached, suspect };
  }

  function hiddenBy(names: readonly string[]): (string | null)[] {
    decide(names);
    return names.map((name) => {
      const by = decided.get(name);
      if (by === undefined) return NOT_CHECKED;
      return by ?? (alike.size === 0 ? null : (alike.get(foldName(name) ?? "") ?? null));
    });
  }

  /** Remembers what became of names, for texts in which they may turn up. */
  function note(names: readonly string[], fates: readonly (string | null)[]): void {
    if (!isStrict) return;
    names.forEach((name, index) => {
      const [to, from] = fates[index] === null ? [seen.shown, seen.hidden] : [seen.hidden, seen.shown];
      if (to.has(name) || to.size >= MAX_DECIDED) return;
      to.add(name);
      from.delete(name);
      seen.version++;
    });
  }

  /** The names of tools that are not as they were accepted. */
  function strangeAmong(tools: readonly Definition[]): Set<string> {
    const known = pins?.pins ?? null;
    if (known === null) return NOBODY;
    const { tools: compared } = comparePins(known, tools);
    return new Set(compared.flatMap(({ name, state }) => (state === "unchanged" ? [] : [name])));
  }

  function hideStrangers(tools: readonly Definition[], strange: ReadonlySet<string>): (string | null)[] {
    const names = tools.map(({ name }) => name);
    const hides = pins?.onChange === "hide";
    const fates = hiddenBy(names).map((by, index) => by ?? (hides && strange.has(names[index]) ? NOT_ACCEPTED : null));
    note(names, fates);
    return fates;
  }

  /** The names that no page to come can hide: only what looks like a denied name is hidden with it. */
  function withoutDoubtful(names: readonly string[]): string[] {
    const { matches, reached } = matchNames(loose, names);
    return names.filter((name, index) => index < reached && matches[index] === null && foldName(name) === name);
  }

  return {
    get isFirstTime() {
      return pins !== null && pins.pins === null;
    },
    notFound,
    isStrict,
    seen,
    hiddenBy(names) {
      const fates = hiddenBy(names);
      note(names, fates);
      return fates;
    },
    hiddenAmong: (tools) => hideStrangers(tools, strangeAmong(tools)),
    strangeAmong,
    view(catalogue) {
      const known = views.get(catalogue);
      const pinned = pins?.version ?? 0;
      if (known !== undefined && known.version === catalogue.version && known.pinned === pinned) return known.view;
      const strange = strangeAmong(catalogue.tools);
      const hidden = hideStrangers(catalogue.tools, strange);
      const shown = catalogue.tools.filter((_, index) => hidden[index] === null);
      const names = shown.map((tool) => tool.name);
      const view: ToolView = {
        allowed: new Set(catalogue.isComplete ? names : withoutDoubtful(names)),
        hidden: catalogue.tools.filter((_, index) => hidden[index] !== null).map((tool) => tool.name),
        strange,
        odd: catalogue.tools.filter(({ raw }) => hasOddText(raw.toString("utf8"))).map((tool) => tool.name),
        result: catalogue.isComplete && catalogue.frame !== null ? composeList(catalogue.frame, shown) : null,
        unmatched: [...deny, ...allow].filter((pattern) => !used.has(pattern)).map((pattern) => pattern.source),
      };
      views.set(catalogue, { version: catalogue.version, pinned, view });
      return view;
    },
  };
}

/** What hides a tool that no `allow` pattern matches. */
export const NOT_ALLOWED = "(not in the allow list)";

/** What hides a tool whose name is too long to be compared with others. */
export const TOO_LONG = "(name too long)";

/** What hides a tool on whose name there was no time to run the patterns. They are run on it when it is listed again. */
export const NOT_CHECKED = "(not checked in time)";

/** What hides a tool that is new, or not as it was accepted. */
export const NOT_ACCEPTED = "(not accepted)";

const NOBODY = new Set<string>();

/** Names whose fate is remembered. */
const MAX_DECIDED = 20_000;

const COMMA = Buffer.from(",");

function composeList(frame: NonNullable<Catalogue["frame"]>, tools: Catalogue["tools"]): Buffer {
  const pieces = [frame.before];
  tools.forEach((tool, index) => {
    if (index > 0) pieces.push(COMMA);
    pieces.push(tool.raw);
  });
  pieces.push(frame.after);
  return Buffer.concat(pieces);
}
