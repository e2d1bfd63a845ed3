import { compose } from "../../message/fold.ts";
import { type Reading, readPlace } from "../../text/path-readings.ts";
import type { Readings } from "./name-filter.ts";

/** Longer links are not judged. */
const MAX_URI_CHARACTERS = 2048;

/** Nobody decodes more often by accident. */
const MAX_DECODINGS = 4;

/**
 * All readings of the link of a resource, or of a template for such links: as it is spelled, decoded once or more often
 * before it is taken apart or after, its dots followed, its backslashes taken for slashes, scheme and host in one
 * spelling, with its query and without. Null where it could be about anything.
 */
export function readUri(uri: string): Readings | null {
  if (uri.length > MAX_URI_CHARACTERS || uri === "" || !uri.isWellFormed()) return null;
  if (SIMPLE.test(uri)) return { all: [uri, `${uri}/`], each: [[uri]] };
  const all = new Set<string>();
  const each: string[][] = [[uri]];
  for (const text of variants(uri) ?? [null]) {
    const link = text === null ? null : takeApart(text, text === uri);
    if (text === null || link === null || !readLink(text, link, all, each)) return null;
  }
  return { all: [...all], each };
}

/** A link as it is, as it looks, and both decoded, as often as that goes. Null where it does not end. */
function variants(uri: string): Set<string> | null {
  const texts = new Set<string>();
  // Some take spaces off its ends and what does not show out of it.
  for (const text of [uri, look(uri)]) {
    const decoded = decodeAll(text);
    if (decoded === null) return null;
    for (const one of decoded) texts.add(one).add(look(one));
  }
  return texts;
}

function look(text: string): string {
  return PLAIN.test(text) ? text : text.normalize("NFKC").replace(UNSEEN, "").trim();
}

const PLAIN = /^[!-~]*$/;
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu;

/** Adds the readings of one variant. False where there is one that cannot be told. */
function readLink(text: string, link: Link, all: Set<string>, each: string[][]): boolean {
  const readings = readPlace(link.place);
  if (readings === null) return false;
  all.add(text).add(text.replaceAll("\\", "/")).add(compose(text));
  const rests = new Set(["", link.rest]);
  for (const reading of readings) {
    const paths = spellPath(link, reading);
    const whole = link.prefixes(reading).flatMap((prefix) => paths.map((path) => prefix + path));
    const others = link.strangers(reading).flatMap((prefix) => paths.map((path) => prefix + path));
    for (const one of [...whole, ...others]) {
      const bare = one.endsWith("/") ? one.slice(0, -1) : one;
      // A folder is what is in it.
      for (const rest of rests) all.add(`${bare}${rest}`).add(`${bare}/${rest}`);
    }
    // What stands behind a colon is a stream of a file to some, but not where there are no files.
    if (!link.isOpaque || reading.way !== "loose") each.push(whole.map((one) => one + link.rest));
  }
  return true;
}

// Most are such, and nobody reads them in two ways.
const SIMPLE = /^(?!file:\/\/[^/])[a-z][a-z0-9+-]+:\/\/(?:[a-z][a-z0-9-]*)?(?:\/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)+$/;

/** A link, taken apart. */
interface Link {
  /** What its path leads to, in the form that paths are resolved in. */
  readonly place: string;
  /** Query and fragment, with their signs. */
  readonly rest: string;
  /** Whether it has no path with slashes at its beginning: `urn:a:b`. */
  readonly isOpaque: boolean;
  /** Whether its path ends with a slash. */
  readonly isFolder: boolean;
  /** What stands before the path: in the one spelling, and as it came. */
  prefixes(reading: Reading): string[];
  /** What others may take for that: without the name of a user, or of a host. */
  strangers(reading: Reading): string[];
}

function takeApart(uri: string, isSpelled: boolean): Link | null {
  const scheme = SCHEME.exec(uri)?.[1];
  if (scheme === undefined) {
    return { ...NO_LINK, place: uri, isFolder: uri.endsWith("/"), prefixes: prefixesOfPath };
  }
  const lower = scheme.toLowerCase();
  const behind = uri.slice(scheme.length + 1);
  const authority = AUTHORITY.exec(behind)?.[1];
  // The link of a file has no query: to some it would be part of the name. Decoded too early, part of the name is one.
  const mark = lower === "file" && isSpelled ? -1 : behind.search(/[?#]/);
  const rest = mark < 0 ? "" : behind.slice(mark);
  const path = behind.slice(authority === undefined ? 0 : authority.length + 2, behind.length - rest.length);
  const spelled = `${scheme}:${authority === undefined ? "" : `//${authority}`}`;
  const parts = { ...NO_LINK, rest, isFolder: path.endsWith("/") };
  if (lower === "file") {
    const prefixes = ({ origin }: Reading): string[] => [origin === "file:" ? "file://" : origin, spelled];
    // Many look at the path and not at the host.
    const place = uri.slice(0, uri.length - rest.length);
    return { ...parts, place, prefixes, strangers: () => ["file://"] };
  }
  if (authority === undefined || authority === "") {
    const isOpaque = !path.startsWith("/") && authority === undefined;
    const prefix = spelled.replace(scheme, lower);
    return { ...parts, place: `${SOMEWHERE}/${path}`, isOpaque, prefixes: () => [prefix, spelled] };
  }
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, at + 1);
  // Where links lead to hosts, a name before one is there to be taken for it.
  if (!USER.test(user) || (user !== "" && WEB.has(lower))) return null;
  const named = ({ origin }: Reading): string => origin.replace("://", `://${user}`);
  return {
    ...parts,
    place: `${lower}://${authority.slice(at + 1)}${path}`,
    prefixes: (reading) => [named(reading), spelled],
    strangers: ({ origin }) => [origin],
  };
}

/** What has no scheme is a path, and may be meant as the link of a file. */
function prefixesOfPath({ origin }: Reading): string[] {
  return origin === "relative" ? [""] : ["", "file://"];
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]+):/;
const AUTHORITY = /^\/\/([^/\\?#]*)/;
// One name, and nothing in it that could end it early.
const USER = /^(?:[A-Za-z0-9._~!$&'()*+,;=:-]*@)?$/;
const WEB = new Set(["http", "https", "ws", "wss", "ftp"]);
/** A host for links that have none, so that their paths can be resolved. */
const SOMEWHERE = "http://somewhere";
const NO_LINK = { rest: "", isOpaque: false, strangers: (): string[] => [] };

/** A path as it was resolved, and as it stands in a link. */
function spellPath({ isOpaque, isFolder }: Link, { drive, segments, origin }: Reading): string[] {
  const steps = segments.join("/");
  const tail = isFolder ? "/" : "";
  if (origin === "relative" || isOpaque) return spellBoth(steps === "" ? "" : steps + tail);
  const path = (steps === "" ? "" : `/${steps}`) + tail;
  if (drive === null) return spellBoth(path);
  return [drive, drive.toUpperCase()].flatMap((letter) => spellBoth(`/${letter}:${path}`));
}

function spellBoth(path: string): string[] {
  return [path, encodeURI(path)];
}

/** A text as it is, decoded once, and so on; null where that does not end. */
function decodeAll(text: string): string[] | null {
  const texts = [text];
  for (let last = text; last.includes("%");) {
    const next = decode(last);
    if (next === null) return null;
    if (next === last) break;
    if (texts.push(next) > MAX_DECODINGS + 1) return null;
    last = next;
  }
  return texts;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"));
  } catch {
    return null; // it is not UTF-8 underneath
  }
}
