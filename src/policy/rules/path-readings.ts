/** One way to read a path or URI, resolved: no dots, no empty segments. */
export interface Reading {
  /** What the path is a path of: "file:" here, a scheme and host, or "relative" to where the server happens to be. */
  readonly origin: string;
  /** The letter of a Windows drive, in lower case. */
  readonly drive: string | null;
  readonly segments: readonly string[];
  /** As it stands, with backslashes for slashes, or in the loosest way. */
  readonly way: Way;
}

/** How a text is read. */
export type Way = "plain" | "slashed" | "loose";

/** Longer paths are not resolved. No system opens them. */
export const MAX_PATH_CHARACTERS = 8192;

/** Nobody decodes more often by accident. What is still encoded then was made to deceive. */
const MAX_DECODINGS = 4;

/**
 * All readings of a path or URI: as it is, and as peers read it that decode once or more often,
 * take backslashes for slashes, compose compatibility characters, or cut parameters off. The first
 * is the plain one. Null where it cannot be resolved in some reading, or could be about anything.
 */
export function readPlace(text: string): readonly Reading[] | null {
  if (text.length <= MAX_PATH_CHARACTERS && PLAIN_PATH.test(text))
    return [followDots(LOCAL, null, text, "plain") as Reading];
  if (text === "" || text.length > MAX_PATH_CHARACTERS || !text.isWellFormed()) return null;
  const place = splitPlace(text);
  if (place === null) return null;
  const { origin, path, isUri } = place;
  const readings: Reading[] = [];
  for (const decoded of decodings(path, isUri)) {
    if (decoded === null || HAZARDS.test(decoded)) return null;
    // Who cuts a link into segments first decodes them afterwards; dots that are escapes are dots even before (WHATWG URL).
    const isCoded = isUri && decoded === path && path.includes("%");
    const dotted = isCoded ? decoded.replace(/%2e/gi, ".") : decoded;
    for (const { way, text: spelled } of SIMPLE.test(dotted) ? plainly(dotted) : spellings(dotted)) {
      const reading = resolve(origin, spelled, way, isUri);
      if (reading === null) return null;
      readings.push(isCoded ? { ...reading, segments: reading.segments.map(decodeSegment) } : reading);
    }
  }
  return readings;
}

interface Place {
  readonly origin: string;
  readonly path: string;
  readonly isUri: boolean;
}

/** Takes a URI apart; what has no scheme is a path. */
function splitPlace(text: string): Place | null {
  const scheme = SCHEME.exec(text)?.[1].toLowerCase();
  if (scheme === undefined) return { origin: isAbsolute(text) ? LOCAL : RELATIVE, path: text, isUri: false };
  const rest = text.slice(scheme.length + 1);
  const authority = AUTHORITY.exec(rest)?.[1];
  if (scheme === "file") {
    // A query in the link of a file is part of the name to some, and not to others.
    if (/[?#]/.test(rest)) return null;
    if (authority === undefined) return rest.startsWith("/") ? { origin: LOCAL, path: rest, isUri: true } : null;
    // Editors write the colon of a drive as an escape.
    const path = rest.slice(authority.length + 2).replace(/^\/([A-Za-z])%3A(?=\/|$)/i, "/$1:");
    if (!HOST.test(authority)) return null;
    const host = authority.toLowerCase();
    return { origin: host === "" || host === "localhost" ? LOCAL : `file://${host}`, path, isUri: true };
  }
  if (authority === undefined || authority === "" || !HOST.test(authority)) return null;
  const path = rest.slice(authority.length + 2).replace(/[?#].*$/s, "");
  const origin = originOf(scheme, authority);
  return origin === null ? null : { origin, path: path === "" ? "/" : path, isUri: true };
}

const LOCAL = "file:";
const RELATIVE = "relative";

// One letter and a colon is a drive.
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]+):/;
const AUTHORITY = /^\/\/([^/\\?#]*)/;
// Without user names, escapes and anything else that two readers could take for two hosts.
const HOST = /^(?:[A-Za-z0-9._-]+(?::\d+)?|\[[0-9A-Fa-f:.]+\](?::\d+)?|)$/;

/** Scheme and host in one spelling: `HTTP://Example.com:80` is `http://example.com`. */
function originOf(scheme: string, authority: string): string | null {
  try {
    const { protocol, host } = new URL(`${scheme}://${authority}`);
    return `${protocol}//${host}`;
  } catch {
    return null;
  }
}

function isAbsolute(path: string): boolean {
  return /^[/\\]/.test(path) || DRIVE.test(path);
}

const DRIVE = /^[A-Za-z][:|](?=[/\\]|$)/;

/** The text as it is, decoded once, and so on. Null where it cannot be decoded and has to be, or never ends. */
function decodings(path: string, isUri: boolean): (string | null)[] {
  const texts: (string | null)[] = [path];
  let last = path;
  while (last.includes("%")) {
    const decoded = decode(last, isUri && texts.length === 1);
    if (decoded === last) break;
    texts.push(texts.length > MAX_DECODINGS ? null : decoded);
    if (decoded === null || texts.length > MAX_DECODINGS + 1) break;
    last = decoded;
  }
  return texts;
}

/** In a URI a percent sign is an escape or a mistake; in a path it may be itself. */
function decode(text: string, isStrict: boolean): string | null {
  try {
    return decodeURIComponent(isStrict ? text : text.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"));
  } catch {
    return null; // it is not UTF-8 underneath
  }
}

/** Where it cannot be decoded, the whole path could not be either. */
function decodeSegment(segment: string): string {
  return decode(segment, false) ?? segment;
}

// Control characters end a text for some and are cut out by others.
const HAZARDS = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/** A path from the root that everybody reads alike: most are such. */
const PLAIN_PATH = /^\/(?!\/)(?:[A-Za-z0-9_@+,=~()-]+(?:\.[A-Za-z0-9_@+,=~()-]+)*(?:\/|$))*$/;

/** Nothing in it that anybody reads differently. */
const SIMPLE = /^(?:[/A-Za-z0-9_@+,=~()-]|\.(?![./]|$)|(?<![^/])\.\.?(?=\/|$))*$/;

interface Spelling {
  readonly way: Way;
  readonly text: string;
}

function plainly(text: string): Spelling[] {
  return [{ way: "plain", text }];
}

/** A path as it stands, as Windows reads it, and as those do that compose characters and cut segments. */
function spellings(path: string): Spelling[] {
  const slashed = path.replaceAll("\\", "/");
  const alike = composeAlike(path).replaceAll("\\", "/");
  const prefix = DRIVE.exec(alike.replace(/^\/(?=[A-Za-z][:|])/, ""))?.[0] ?? "";
  const skipped = prefix === "" ? 0 : alike.indexOf(prefix) + prefix.length;
  const cut = alike.slice(skipped).split("/").map(cutSegment).join("/");
  return [
    { way: "plain", text: path },
    { way: "slashed", text: slashed },
    { way: "loose", text: alike.slice(0, skipped) + cut },
  ];
}

/** A text as it looks: compatibility characters composed, nothing in it that does not show, one kind of slash and dot. */
export function composeAlike(text: string): string {
  const composed = text.normalize("NFKC").replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "");
  return composed.replace(SLASH_LIKE, "/").replace(DOT_LIKE, ".");
}

// The fraction and division slashes, and the characters that stand for a backslash in some code pages.
const SLASH_LIKE = /[\u2044\u2215\u2216\u29f5\u29f8\u29f9\u2571\u2572\u00a5\u20a9\u01c0]/g;
const DOT_LIKE = /[\u3002\u00b7\u0701\u0702\ua4f8]/g;

/** What is left of a segment without parameters, streams, and the dots and spaces that Windows drops. */
export function cutSegment(segment: string): string {
  const bare = segment.replace(/[;:].*$/s, "").trim();
  // More dots than two have climbed further up on some systems; nobody needs such a name.
  if (/^[. ]{2,}$/.test(bare)) return "..";
  return bare.replace(/[. ]+$/, "") || bare;
}

/** Follows the dots, from where a path begins. Null for what leads out of a relative path, or into what is not said: a share, a home, a drive's own folder. */
function resolve(origin: string, path: string, way: Way, isUri: boolean): Reading | null {
  let rest = path;
  let drive: string | null = null;
  if (origin === LOCAL) {
    // On Windows two slashes are the beginning of another machine's name.
    if (/^[/\\]{2}/.test(rest)) return null;
    const bare = rest.replace(/^\/(?=[A-Za-z][:|])/, "");
    if (/^[A-Za-z][:|]/.test(bare)) {
      // `/C:/x` is one file to a path's reader and another to a link's.
      if (!DRIVE.test(bare) || (!isUri && bare !== rest)) return null;
      drive = bare[0].toLowerCase();
      rest = bare.slice(2);
    }
  } else if (origin === RELATIVE && /^(?:~|[/\\]|[A-Za-z][:|])/.test(rest)) return null;
  // A drive means Windows, and there a backslash is a slash in every reading.
  return followDots(origin, drive, drive === null ? rest : rest.replaceAll("\\", "/"), way);
}

function followDots(origin: string, drive: string | null, path: string, way: Way): Reading | null {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined && origin === RELATIVE) return null;
  }
  return { origin, drive, segments, way };
}
