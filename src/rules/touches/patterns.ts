import { composeAlike } from "../../text/path-readings.ts";
import { expandBraces } from "./braces.ts";
import { DEEP, type Name, nameOf, ONE, STAR, withoutMarks } from "./names.ts";

/** Where the names of a pattern or of a path begin. */
export type Start =
  /** At the root of the file system. */
  | "root"
  /** At the home directory of some user. */
  | "home"
  /** In any directory. */
  | "anywhere"
  /** At the host of a web link, or after another scheme. */
  | "web"
  | `scheme:${string}`;

/** A path or glob of a `touches` condition: one file, or a directory with everything below it. */
export interface TouchPattern {
  readonly start: Start;
  /** A Windows drive letter. */
  readonly drive: string | null;
  /** With start "anywhere", the first name is `**`. */
  readonly names: readonly Name[];
  /**
   * Whether it was written for a home directory, and starts anywhere only because the home directory's path is unknown.
   */
  readonly isHome: boolean;
  /** Text that a matching word must contain, unless the word has wildcards. */
  readonly needle: string;
  /** The single word that names the file if another word names its directory; null if there is none. */
  readonly bare: BareName | null;
}

/** A plain word such as `shadow` for `/etc/shadow`, and the directory it has to be in. */
export interface BareName {
  readonly word: string;
  readonly parent: Pick<TouchPattern, "start" | "drive" | "names">;
}

/** Why a pattern cannot be used. */
export interface PatternProblem {
  readonly problem: string;
  readonly suggestion: string;
}

/** Folds a text for comparison: composed, in lower case, without invisible characters. */
export function foldPath(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return composeAlike(composeAlike(text).toUpperCase().toLowerCase());
}

// oxlint-disable-next-line no-control-regex -- control characters are ASCII, too
const ASCII = /^[\0-\x7f]*$/;

/** Parses a path, which matches itself and everything below it. */
export function readTouchPath(text: string): TouchPattern[] | PatternProblem {
  return compile(withoutMarks(text).replaceAll("*", "\uFFFD").replaceAll("?", "\uFFFD"), true);
}

/** Parses a glob. It also matches everything below a match. */
export function readTouchGlob(text: string): TouchPattern[] | PatternProblem {
  if (text.startsWith("!")) {
    return { problem: "A glob has no exceptions", suggestion: "Take out the !, and name what must not be touched" };
  }
  const written = expandBraces(withoutMarks(text));
  if (written === null) return { problem: "A glob has too many alternatives", suggestion: "Write several globs" };
  const patterns: TouchPattern[] = [];
  for (const one of written) {
    const marked = one
      .replaceAll(/\[[^\]/]+\]/g, ONE)
      .replaceAll("**", DEEP)
      .replaceAll("*", STAR)
      .replaceAll("?", ONE);
    const compiled = compile(marked, false);
    if (!Array.isArray(compiled)) return compiled;
    patterns.push(...compiled);
  }
  return patterns;
}

function compile(written: string, isPath: boolean): TouchPattern[] | PatternProblem {
  const folded = foldPath(written)
    .replace(/^file:\/*(?:localhost(?=\/))?(?=\/|[a-z]:)/, "")
    .replaceAll("\\", "/");
  const link = /^([a-z][a-z0-9+.-]+):\/\/(?:[^/@]*@)?([^/?#:]*)(?::\d*)?([^?#]*)/.exec(folded);
  const drive = /^\/?([a-z])[:|](?=\/|$)/.exec(folded)?.[1] ?? null;
  const path = drive === null ? folded : folded.replace(/^\/?[a-z][:|]/, "") || "/";
  const start: Start =
    link !== null
      ? isWeb(link[1])
        ? "web"
        : `scheme:${link[1]}`
      : path.startsWith("/")
        ? "root"
        : /^~[^/]*(?:\/|$)/.test(path)
          ? "home"
          : "anywhere";
  const rest =
    link !== null
      ? `${start === "web" ? hostOf(link[2]) : link[2]}${link[3]}`
      : start === "home"
        ? path.replace(/^~[^/]*/, "")
        : path;
  const texts = rest.split("/").filter((text) => text !== "" && text !== ".");
  if (texts.includes("..")) return { problem: "It has .. in it", suggestion: "Write where it leads to" };
  // A `**` at the ends makes no difference, because a pattern matches files and everything below them.
  if (start === "anywhere") while (texts[0] === DEEP) texts.shift();
  while (texts.at(-1) === DEEP) texts.pop();
  const names = texts.map((text) => nameOf(text.replace(/[. ]+$/, "") || text));
  if (!names.some(({ hasLiteral }) => hasLiteral)) {
    return { problem: "It is everywhere", suggestion: "Name a directory or a file" };
  }
  const isDirectory = isPath || DEEP_END.test(rest);
  return spread(start, drive, isDirectory ? [...names, nameOf(DEEP)] : names);
}

const DEEP_END = new RegExp(`${DEEP}/?$`);

/** Whether links with this scheme refer to other hosts and not to the local file system. */
export function isWeb(scheme: string): boolean {
  return /^(?:https?|wss?|ftps?|sftp|ssh|mailto|data|javascript|about|blob|tel)$/.test(scheme);
}

/** The normal form of a host: `2130706433` becomes `127.0.0.1`. A text that is not a host is returned unchanged. */
export function hostOf(text: string): string {
  const host = text.replace(/\.$/, "");
  if (/^[a-z-][a-z0-9.-]*$/.test(host) || !URL.canParse(`http://${host}`)) return host;
  return new URL(`http://${host}`).hostname;
}

/** Returns a pattern in every form it may stand for: a home directory also has an absolute path, which is unknown. */
function spread(start: Start, drive: string | null, names: readonly Name[]): TouchPattern[] {
  const [first, second, ...rest] = names;
  // `/home/you/x` is also `~/x`.
  const isInHome = start === "root" && second !== undefined && /^(?:home|users)$/.test(first.text) && hasName(rest);
  const own = [pattern(start, drive, names, false)];
  if (isInHome) return [...own, pattern("home", null, rest, false)];
  if (start !== "home") return own;
  const homes = [["home", STAR], ["users", STAR], ["root"], ["var", "root"]];
  return [
    ...own,
    pattern("anywhere", null, names, true),
    ...homes.map((home) => pattern("root", null, [...home.map(nameOf), ...names], false)),
  ];
}

function hasName(names: readonly Name[]): boolean {
  return names.some(({ hasLiteral }) => hasLiteral);
}

function pattern(start: Start, drive: string | null, written: readonly Name[], isHome: boolean): TouchPattern {
  const names = start === "anywhere" ? [nameOf(DEEP), ...written] : written;
  const lastIndex = names.findLastIndex(({ hasLiteral }) => hasLiteral);
  const last = names[lastIndex];
  const needle = last.text.split(/[\uE000-\uE003]/).reduce((one, other) => (other.length > one.length ? other : one));
  const isPlain = PLAIN_WORD.test(last.text) && names.slice(lastIndex + 1).every(({ isDeep }) => isDeep);
  const before = names.slice(0, lastIndex);
  // A single name that may be in any directory does not need another word for its directory.
  const isAlone = start === "anywhere" && !hasName(before);
  const isPath = start === "root" || start === "home" || start === "anywhere";
  const bare =
    isPlain && isPath && !isAlone && !isHome ? { word: last.text, parent: { start, drive, names: before } } : null;
  return { start, drive, names, isHome, needle, bare };
}

/** A word of letters and digits, which may occur in a longer text without naming a file. */
export const PLAIN_WORD = /^[\p{L}\p{N}_-]+$/u;
