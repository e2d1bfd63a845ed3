import { cutSegment } from "../rules/path-readings.ts";
import { ANY, type Name, nameOf, ONE, STAR } from "./names.ts";
import { hostOf, isWeb, PLAIN_WORD, type Start } from "./patterns.ts";
import type { Word } from "./words.ts";

/** Where a word may lead to. */
export interface Place {
  /** "somewhere" is relative to a directory that nobody knows here. */
  readonly start: Exclude<Start, "anywhere"> | "somewhere";
  readonly drive: string | null;
  readonly names: readonly Name[];
  /** Whether it is one plain word of a longer text, which need not mean a file. */
  readonly isBare: boolean;
}

/**
 * All places that a word may lead to, taken as a path, as a URI, or as something with one of them in it. Only those are
 * looked for whose text is worth it.
 */
export function placesOf({ text, isWhole }: Word, isWorthIt: (text: string) => boolean): Place[] {
  const places: Place[] = [];
  // Links to the web are cut out first: what stands behind their host is not a path here.
  const local = text.replace(LINK, (link: string, scheme: string) => {
    addLink("web", `//${link.slice(scheme.length + 1).replace(/^[/\\]+/, "")}`, places);
    // What is asked for may be a path.
    return `=${/[\uE000?#].*$/s.exec(link)?.[0].replaceAll(ONE, "=") ?? ""}`;
  });
  const custom = /^([a-z][a-z0-9+.-]+):(\/\/.*)$/s.exec(local);
  if (custom !== null) addLink(isWeb(custom[1]) ? "web" : `scheme:${custom[1]}`, custom[2], places);
  if (local.startsWith("//")) addLink("web", local, places);
  const pieces = new Set([local, ...local.split(SOFT)]);
  for (const piece of pieces) {
    // A colon behind one letter belongs to a drive.
    if (piece.length === 1 && local.startsWith(`${piece}:`) && /[a-z]/.test(piece)) continue;
    if (!isWorthIt(piece)) continue;
    addPaths(piece, isWhole && piece === text, places);
    const option = /^-{1,2}[\w-]*?(?=[/\\~.])/.exec(piece)?.[0];
    if (option !== undefined && option.length < piece.length) addPaths(piece.slice(option.length), false, places);
  }
  return places;
}

// Browsers need neither of the slashes.
const LINK = /\b(https?|wss?|ftps?|sftp|ssh):(?:[/\\]|(?=[a-z0-9-]+[.:@/]))\S*/g;

/** What may stand between a path and something else: `--file=x`, `@x`, `host:x`, `a=x&b=y`. A drive keeps its colon. */
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

/** Names as they stand and as careless systems read them, each with its dots followed. */
function spellings(texts: readonly string[]): string[][] {
  const cut = texts.map((text) => {
    const rest = cutSegment(text);
    // A space at the beginning belongs to the name.
    return rest !== ".." && /^\s/.test(text) ? text : shortName(rest);
  });
  const loose = followDots(cut);
  const spelled = [loose];
  // `...` is a name to some, and further up to others; `a;b` and `a:b` are names to some, and cut by others.
  const plain = texts.map((text) => (text === ".." ? text : text.replace(/[. ]+$/, "") || text));
  if (cut.some((text, nth) => text !== plain[nth])) spelled.push(followDots(plain));
  // What a variable holds may have slashes in it.
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

/** Windows knows files by a short name, too: `.ssh` is `SSH~1`. */
function shortName(text: string): string {
  const match = /^([^.~]{1,6})~\d{1,2}(\.[^.]{0,3})?$/.exec(text);
  return match === null ? text : `${STAR}${match[1]}${STAR}${match[2] ?? ""}${STAR}`;
}

/** Follows dots. What leads out of the beginning leads to somewhere else, which is not told here. */
function followDots(texts: readonly string[]): string[] {
  const followed: string[] = [];
  for (const text of texts) {
    if (text === "" || text === ".") continue;
    if (text !== "..") followed.push(text);
    // What stands for any number of names still does with one less.
    else if (!nameOf(followed.at(-1) ?? "x").isDeep) followed.pop();
  }
  return followed;
}

interface Beginning {
  readonly from: "root" | "home" | "somewhere";
  readonly rest: readonly string[];
}

/** Where names may begin. */
function beginnings(names: readonly string[], isRoot: boolean, written: string): Beginning[] {
  const [first = ""] = names;
  // `~`, `~user`, and what a link makes of it: `file://~/x`.
  if (first.startsWith("~") && (!isRoot || written.startsWith("//"))) {
    // Whose home it is may be a variable; then it may also be a sum of money: `~$5`.
    return [{ from: nameOf(first).isWild ? "somewhere" : "home", rest: names.slice(1) }];
  }
  if (!isRoot) return [{ from: "somewhere", rest: names }];
  const all: Beginning[] = [{ from: "root", rest: names }];
  // `//host/share/x` and `\\?\C:\x`: where the share begins on that machine is not known.
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

/** How many names may stand before a path on another machine. */
const MAX_SKIPPED = 4;

// Directories that are others: of a process, of macOS, of drives as Linux and its shells name them.
const ALIASES =
  /^\/(?:proc\/[^/]+\/(?:task\/[^/]+\/)?(?:root|cwd)|private(?=\/(?:etc|var|tmp)\/)|system\/volumes\/data|mnt\/[a-z]|cygdrive\/[a-z]|[a-z])\//;
