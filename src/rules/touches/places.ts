import { cutSegment } from "../../text/path-readings.ts";
import { ANY, type Name, nameOf, ONE, STAR } from "./names.ts";
import { hostOf, isWeb, PLAIN_WORD, type Start } from "./patterns.ts";
import type { Word } from "./words.ts";

/** A path or URI that a word may stand for. */
export interface Place {
  /** "somewhere" is relative to a directory that is not known. */
  readonly start: Exclude<Start, "anywhere"> | "somewhere";
  readonly drive: string | null;
  readonly names: readonly Name[];
  /** Whether it is one plain word of a longer text, which may not name a file. */
  readonly isBare: boolean;
}

/**
 * All places that a word may stand for, read as a path, as a URI, or as a text that contains one of them. Parts of the
 * word for which `isWorthIt` returns false are skipped.
 */
export function placesOf({ text, isWhole }: Word, isWorthIt: (text: string) => boolean): Place[] {
  const places: Place[] = [];
  // Web links are removed first, because the path after their host is not a local path.
  const local = text.replace(LINK, (link: string, scheme: string) => {
    addLink("web", `//${link.slice(scheme.length + 1).replace(/^[/\\]+/, "")}`, places);
    // The query and the fragment may contain a local path.
    return `=${/[\uE000?#].*$/s.exec(link)?.[0].replaceAll(ONE, "=") ?? ""}`;
  });
  const custom = /^([a-z][a-z0-9+.-]+):(\/\/.*)$/s.exec(local);
  if (custom !== null) addLink(isWeb(custom[1]) ? "web" : `scheme:${custom[1]}`, custom[2], places);
  if (local.startsWith("//")) addLink("web", local, places);
  const pieces = new Set([local, ...local.split(SOFT)]);
  for (const piece of pieces) {
    // A colon after a single letter belongs to a drive.
    if (piece.length === 1 && local.startsWith(`${piece}:`) && /[a-z]/.test(piece)) continue;
    if (!isWorthIt(piece)) continue;
    addPaths(piece, isWhole && piece === text, places);
    const option = /^-{1,2}[\w-]*?(?=[/\\~.])/.exec(piece)?.[0];
    if (option !== undefined && option.length < piece.length) addPaths(piece.slice(option.length), false, places);
  }
  return places;
}

// Browsers also accept links without the slashes.
const LINK = /\b(https?|wss?|ftps?|sftp|ssh):(?:[/\\]|(?=[a-z0-9-]+[.:@/]))\S*/g;

/**
 * Characters that may separate a path from other text: `--file=x`, `@x`, `host:x`, `a=x&b=y`. A drive keeps its colon.
 */
const SOFT = /(?<!^[a-z]):|(?<=^[a-z]):(?![/\\])|[=@,!#&+\uE000?]/;

function addLink(start: "web" | `scheme:${string}`, behind: string, places: Place[]): void {
  const match = /^[/\\]{2,}(?:[^/\\]*@)?([^/\\:?#\uE000]*)(?::\d*)?([^?#\uE000]*)/.exec(behind);
  if (match === null) return;
  const path = match[2].replaceAll("\\", "/");
  const host = start === "web" ? hostOf(match[1]) : match[1];
  const names = followDots([host, ...path.split("/")]).map(nameOf);
  if (names.length > 0) places.push({ start, drive: null, names, isBare: false });
}

function addPaths(word: string, isWhole: boolean, places: Place[]): void {
  const slashed = word.replaceAll("\\", "/");
  const drive = /^\/*([a-z])[:|]/.exec(slashed)?.[1] ?? null;
  const bare = drive === null ? slashed : slashed.replace(/^\/*[a-z][:|]/, "");
  if (bare === "") return;
  const isRoot = bare.startsWith("/");
  const texts = bare.split("/").filter((text) => text !== "" && text !== ".");
  for (const segments of spellings(texts)) {
    for (const { from, rest } of beginnings(segments, isRoot, slashed)) {
      const names = rest.map(nameOf);
      if (names.length === 0 && from !== "home") continue;
      const isPlain = names.length === 1 && PLAIN_WORD.test(names[0].text) && !slashed.includes("/");
      places.push({ start: from, drive, names, isBare: !isWhole && isPlain && from === "somewhere" });
    }
  }
}

/** The names as written and as careless systems read them, with `..` resolved in each. */
function spellings(texts: readonly string[]): string[][] {
  const cut = texts.map((text) => {
    const rest = cutSegment(text);
    // A leading space is part of the name.
    return rest !== ".." && /^\s/.test(text) ? text : shortName(rest);
  });
  const loose = followDots(cut);
  const spelled = [loose];
  // Some systems read `...` as a name, others as parent directories; some read `a;b` and `a:b` as names, others cut
  // them.
  const plain = texts.map((text) => (text === ".." ? text : text.replace(/[. ]+$/, "") || text));
  if (cut.some((text, nth) => text !== plain[nth])) spelled.push(followDots(plain));
  // The value of a variable may contain slashes.
  if (loose.some((text) => text.length > 1 && text.includes(ANY))) {
    spelled.push(loose.flatMap((text) => (text.length > 1 && text.includes(ANY) ? splitAny(text) : [text])));
  }
  return spelled;
}

function splitAny(text: string): string[] {
  const pieces = text.split(ANY);
  return pieces.flatMap((piece, nth) => {
    const name = `${nth > 0 ? ANY : ""}${piece}${nth < pieces.length - 1 ? ANY : ""}`;
    return nth === 0 ? [name] : [ANY, name];
  });
}

/** Windows also knows files by a short name: `.ssh` is `SSH~1`. */
function shortName(text: string): string {
  const match = /^([^.~]{1,6})~\d{1,2}(\.[^.]{0,3})?$/.exec(text);
  return match === null ? text : `${STAR}${match[1]}${STAR}${match[2] ?? ""}${STAR}`;
}

/** Resolves `.` and `..`. A `..` at the beginning is dropped, because its target is unknown. */
function followDots(texts: readonly string[]): string[] {
  const followed: string[] = [];
  for (const text of texts) {
    if (text === "" || text === ".") continue;
    if (text !== "..") followed.push(text);
    // A name that matches any number of names still does after one is removed.
    else if (!nameOf(followed.at(-1) ?? "x").isDeep) followed.pop();
  }
  return followed;
}

interface Beginning {
  readonly from: "root" | "home" | "somewhere";
  readonly rest: readonly string[];
}

/** The directories in which the names may begin. */
function beginnings(names: readonly string[], isRoot: boolean, written: string): Beginning[] {
  const [first = ""] = names;
  // `~`, `~user`, and the same in a file link: `file://~/x`.
  if (first.startsWith("~") && (!isRoot || written.startsWith("//"))) {
    // The user may be a variable. The text may then also be an amount of money: `~$5`.
    return [{ from: nameOf(first).isWild ? "somewhere" : "home", rest: names.slice(1) }];
  }
  if (!isRoot) return [{ from: "somewhere", rest: names }];
  const all: Beginning[] = [{ from: "root", rest: names }];
  // `//host/share/x` and `\\?\C:\x`: the directory of the share on that machine is not known.
  if (written.startsWith("//")) {
    for (let skip = 1; skip <= MAX_SKIPPED && skip < names.length; skip++)
      all.push({ from: "root", rest: names.slice(skip) });
  }
  const alias = ALIASES.exec(`/${names.join("/")}/`)?.[0];
  if (alias !== undefined) {
    const skip = alias.split("/").length - 2;
    all.push({ from: alias.endsWith("/cwd/") ? "somewhere" : "root", rest: names.slice(skip) });
  }
  return all;
}

/** How many names may precede a path on another machine. */
const MAX_SKIPPED = 4;

// Directories that are aliases of others: of a process, on macOS, and of Windows drives on Linux and in its shells.
const ALIASES =
  /^\/(?:proc\/[^/]+\/(?:task\/[^/]+\/)?(?:root|cwd)|private(?=\/(?:etc|var|tmp)\/)|system\/volumes\/data|mnt\/[a-z]|cygdrive\/[a-z]|[a-z])\//;
