import { compose } from "../../message/fold.ts";
import { type Reading, readPlace } from "../../text/path-readings.ts";
import type { Readings } from "./name-filter.ts";

/** Longer URIs are not judged, so they are hidden. */
const MAX_URI_CHARACTERS = 2048;

/** No peer decodes more often by accident. */
const MAX_DECODINGS = 4;

/**
 * All readings of the URI of a resource, or of a URI template: as it is spelled, decoded once or more often before or
 * after it is split, with dot segments resolved, backslashes read as slashes, scheme and host in canonical spelling,
 * with its query and without. Null if it cannot be resolved in some reading.
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

/** A URI as it is, as a reader sees it, and both decoded as often as possible. Null if that exceeds MAX_DECODINGS. */
function variants(uri: string): Set<string> | null {
  const texts = new Set<string>();
  // Some peers trim whitespace and remove invisible characters.
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

/** Adds the readings of one variant. Returns false if one of them cannot be resolved. */
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
      // With and without a slash at the end, so that a deny pattern for the content of a folder also hides the folder.
      for (const rest of rests) all.add(`${bare}${rest}`).add(`${bare}/${rest}`);
    }
    // The loose reading cuts off what follows a colon, which names a stream of an NTFS file. An opaque URI is not a
    // file, so it does not have to be allowed in that reading.
    if (!link.isOpaque || reading.way !== "loose") each.push(whole.map((one) => one + link.rest));
  }
  return true;
}

// Most URIs match this, and all peers read them alike.
const SIMPLE = /^(?!file:\/\/[^/])[a-z][a-z0-9+-]+:\/\/(?:[a-z][a-z0-9-]*)?(?:\/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)+$/;

/** The parts of a URI. */
interface Link {
  /** The URI in the form that `readPlace` resolves. */
  readonly place: string;
  /** Query and fragment, with `?` and `#`. */
  readonly rest: string;
  /** Whether neither `//` nor `/` follows the scheme, as in `urn:a:b`. */
  readonly isOpaque: boolean;
  /** Whether its path ends with a slash. */
  readonly isFolder: boolean;
  /** The text before the path: in canonical spelling, and as it was received. */
  prefixes(reading: Reading): string[];
  /** Other texts that peers may read as the part before the path: without the user name, or without the host. */
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
  // In a file URI as spelled, `?` and `#` are not split off, and `readPlace` refuses them: some peers read them as part
  // of the name. In a decoded variant they begin a query, as for a peer that decodes before it splits.
  const mark = lower === "file" && isSpelled ? -1 : behind.search(/[?#]/);
  const rest = mark < 0 ? "" : behind.slice(mark);
  const path = behind.slice(authority === undefined ? 0 : authority.length + 2, behind.length - rest.length);
  const spelled = `${scheme}:${authority === undefined ? "" : `//${authority}`}`;
  const parts = { ...NO_LINK, rest, isFolder: path.endsWith("/") };
  if (lower === "file") {
    const prefixes = ({ origin }: Reading): string[] => [origin === "file:" ? "file://" : origin, spelled];
    // Many peers use only the path of a file URI and ignore the host.
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
  // Security: in a web URI a user name can pose as the host.
  if (!USER.test(user) || (user !== "" && WEB.has(lower))) return null;
  const named = ({ origin }: Reading): string => origin.replace("://", `://${user}`);
  return {
    ...parts,
    place: `${lower}://${authority.slice(at + 1)}${path}`,
    prefixes: (reading) => [named(reading), spelled],
    strangers: ({ origin }) => [origin],
  };
}

/** A text without a scheme is a path. An absolute one may also mean a file URI. */
function prefixesOfPath({ origin }: Reading): string[] {
  return origin === "relative" ? [""] : ["", "file://"];
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]+):/;
const AUTHORITY = /^\/\/([^/\\?#]*)/;
// One user name, without characters that could end it early.
const USER = /^(?:[A-Za-z0-9._~!$&'()*+,;=:-]*@)?$/;
const WEB = new Set(["http", "https", "ws", "wss", "ftp"]);
/** A host for URIs without one, so that their paths can be resolved. */
const SOMEWHERE = "http://somewhere";
const NO_LINK = { rest: "", isOpaque: false, strangers: (): string[] => [] };

/** A resolved path, plain and percent-encoded. */
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

/** A text as it is, decoded once, decoded twice, and so on. Null if decoding fails or exceeds MAX_DECODINGS. */
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
    return null; // the decoded bytes are not UTF-8
  }
}
