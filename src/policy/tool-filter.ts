import { foldName } from "../message/fold.ts";
import type { Catalogue } from "../session/catalogue.ts";
import { hasOddText } from "./odd-text.ts";
import { compilePattern, matchNames, type Pattern } from "./patterns.ts";
import { comparePins, type Definition, type PinBook } from "./pins.ts";

/** Which tools a client may see and call. Lists and calls are judged alike. */
export interface ToolFilter {
  /**
   * Why each name is hidden: the deny pattern that matches, NOT_ALLOWED if no allow pattern matches, or TOO_LONG or
   * NOT_CHECKED if that could not be found out. Null if it is not hidden.
   */
  hiddenBy(names: readonly string[]): (string | null)[];
  /**
   * Like `hiddenBy`, for listed tools. Their definitions are compared with the pins, too; then NOT_ACCEPTED is the
   * reason.
   */
  hiddenAmong(tools: readonly Definition[]): (string | null)[];
  /** The names of tools that are not as they were accepted, whether that hides them or not. */
  strangeAmong(tools: readonly Definition[]): ReadonlySet<string>;
  /** What a client sees of a catalogue. Computed once for each version of it. */
  view(catalogue: Catalogue): ToolView;
  /** Whether pins are used and there are none yet. Then no tool is shown or called before the list is complete. */
  isFirstTime(): boolean;
  /** How a call of a hidden or unknown tool is answered. */
  readonly notFound: NotFound;
  /** Whether hidden names are also removed from errors, completions and log messages. */
  readonly isStrict: boolean;
  /** The tool names that were listed so far. */
  readonly seen: SeenNames;
}

/** The tool names that were listed so far: those that were hidden in the last list with them, and the others. */
export interface SeenNames {
  /** Increases with every change. */
  readonly version: number;
  readonly hidden: ReadonlySet<string>;
  readonly shown: ReadonlySet<string>;
}

/** How a call of a hidden tool is answered: by the proxy's contract, as newer revisions say, or as the server would. */
export type NotFound = "contract" | "spec" | "upstream";

/** A catalogue as a client sees it. */
export interface ToolView {
  /** The names that may be called. While the list is incomplete, without names that a later page might hide. */
  readonly allowed: ReadonlySet<string>;
  /** The names that are hidden. */
  readonly hidden: readonly string[];
  /** The names of tools that are not as they were accepted, whether that hides them or not. */
  readonly strange: ReadonlySet<string>;
  /** The names of tools whose definitions contain text that people do not see as models do. */
  readonly odd: readonly string[];
  /** The result of `tools/list` with all pages in one, as JSON text. Null while the list is not known. */
  readonly result: Buffer | null;
  /** Patterns that matched no tool at all. */
  readonly unmatched: readonly string[];
}

/** Options of a tool filter. */
export interface ToolFilterOptions {
  readonly deny: readonly Pattern[];
  /** If there are any, only tools that match one of them are shown. `deny` takes precedence. */
  readonly allow: readonly Pattern[];
  /** The pins; null if pins are not used. */
  readonly pins?: PinBook | null;
  readonly notFound?: NotFound;
  readonly isStrict?: boolean;
  /** Called when a pattern took too long on the names from a server and was stopped. */
  readonly onHang?: (pattern: string) => void;
}

/** Makes a filter from checked patterns. */
export function createToolFilter(options: ToolFilterOptions): ToolFilter {
  const { deny, allow, notFound = "contract", isStrict = false, pins = null, onHang = () => {} } = options;
  const decided = new Map<string, string | null>();
  // Security: a name that a careless server might take for a hidden one is hidden, too.
  const alike = new Map<string, string>();
  const loose = deny.map(({ source }) => ({ source, expression: compilePattern(source, "i") }));
  const used = new Set<Pattern>();
  let stopped = new Set<Pattern>();
  const seen = { version: 0, hidden: new Set<string>(), shown: new Set<string>() };
  const views = new WeakMap<Catalogue, { version: number; pinned: number; view: ToolView }>();

  /** Runs the patterns on names that have not been decided yet. */
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

  /**
   * Runs patterns. One that hangs is not used again in this process; if it is a deny pattern, all new names are hidden.
   */
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

  /** Remembers which names are hidden and shown, to scrub texts that contain them. */
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

  /** The names of tools whose definitions differ from the pins, or have none. */
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

  /** The names that no later page can hide. A later page can hide a name only if it looks like a denied name. */
  function withoutDoubtful(names: readonly string[]): string[] {
    const { matches, reached } = matchNames(loose, names);
    return names.filter((name, index) => index < reached && matches[index] === null && foldName(name) === name);
  }

  return {
    isFirstTime: () => pins !== null && pins.pins === null,
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

/** Reason for hiding: no `allow` pattern matches. */
export const NOT_ALLOWED = "(not in the allow list)";

/** Reason for hiding: the name is too long to be compared with others. */
export const TOO_LONG = "(name too long)";

/** Reason for hiding: the patterns did not reach the name within the time limit. The next list tries again. */
export const NOT_CHECKED = "(not checked in time)";

/** Reason for hiding: the tool is new, or not as it was accepted. */
export const NOT_ACCEPTED = "(not accepted)";

const NOBODY = new Set<string>();

/** Limit for the names whose decision is remembered. */
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
