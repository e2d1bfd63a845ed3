/** One way to read a path or URI, resolved: without dot segments and empty segments. */
export interface Reading {
  /**
   * "file:" for a local path, a scheme and host, or "relative" for a path relative to the server's working directory.
   */
  readonly origin: string;
  /** The letter of a Windows drive, in lower case. */
  readonly drive: string | null;
  readonly segments: readonly string[];
  /** How the text was read to get this reading. */
  readonly way: Way;
}

/** How a text is read: as it is written, with backslashes as slashes, or as the most lenient reader does. */
export type Way = "plain" | "slashed" | "loose";

/** Longer paths are not resolved: no system opens them. */
export const MAX_PATH_CHARACTERS = 8192;

/** No peer decodes more often by accident. A text that is still encoded after that was made to deceive. */
const MAX_DECODINGS = 4;

/**
 * All readings of a path or URI: as it is written, and as peers read it that decode it once or more often, read
 * backslashes as slashes, normalize compatibility characters, or cut off parameters. The first is the plain one. Null
 * if it cannot be resolved in some reading.
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
    // Some peers split a URI into segments before they decode them. Even then `%2e` counts as a dot (WHATWG URL).
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

/** Splits a URI. A text without a scheme is a path. */
function splitPlace(text: string): Place | null {
  const scheme = SCHEME.exec(text)?.[1].toLowerCase();
  if (scheme === undefined) return { origin: isAbsolute(text) ? LOCAL : RELATIVE, path: text, isUri: false };
  const rest = text.slice(scheme.length + 1);
  const authority = AUTHORITY.exec(rest)?.[1];
  if (scheme === "file") {
    // In a file URI some peers read a query as part of the file name, others do not.
    if (/[?#]/.test(rest)) return null;
    if (authority === undefined) return rest.startsWith("/") ? { origin: LOCAL, path: rest, isUri: true } : null;
    // Editors escape the colon of a drive.
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

// A scheme has at least two letters: one letter and a colon is a drive.
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]+):/;
const AUTHORITY = /^\/\/([^/\\?#]*)/;
// Without user names, escapes and all else that two readers could read as different hosts.
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

/**
 * The text as it is, decoded once, decoded twice, and so on. The last is null if decoding failed, or if the text was
 * still encoded after MAX_DECODINGS.
 */
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

/** In a URI every percent sign must begin an escape. In a path it may also be a plain character. */
function decode(text: string, isStrict: boolean): string | null {
  try {
    return decodeURIComponent(isStrict ? text : text.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"));
  } catch {
    return null; // the decoded bytes are not UTF-8
  }
}

/** If a segment cannot be decoded, neither can the whole path, and `readPlace` returns null anyway. */
function decodeSegment(segment: string): string {
  return decode(segment, false) ?? segment;
}

// Some peers end a text at a control character, others remove it.
const HAZARDS = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/** An absolute path that every peer reads alike. Most paths match this. */
const PLAIN_PATH = /^\/(?!\/)(?:[A-Za-z0-9_@+,=~()-]+(?:\.[A-Za-z0-9_@+,=~()-]+)*(?:\/|$))*$/;

/** A path without characters that peers read differently. */
const SIMPLE = /^(?:[/A-Za-z0-9_@+,=~()-]|\.(?![./]|$)|(?<![^/])\.\.?(?=\/|$))*$/;

interface Spelling {
  readonly way: Way;
  readonly text: string;
}

function plainly(text: string): Spelling[] {
  return [{ way: "plain", text }];
}

/** A path as it is written, as Windows reads it, and as peers read it that normalize characters and cut segments. */
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

/** A text as a reader sees it: NFKC, without invisible characters, with one kind of slash and dot. */
export function composeAlike(text: string): string {
  const composed = text.normalize("NFKC").replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "");
  return composed.replace(SLASH_LIKE, "/").replace(DOT_LIKE, ".");
}

// The fraction and division slashes, and characters that mean a backslash in some code pages.
const SLASH_LIKE = /[\u2044\u2215\u2216\u29f5\u29f8\u29f9\u2571\u2572\u00a5\u20a9\u01c0]/g;
const DOT_LIKE = /[\u3002\u00b7\u0701\u0702\ua4f8]/g;

/** A segment without parameters and NTFS streams, and without the trailing dots and spaces that Windows drops. */
export function cutSegment(segment: string): string {
  const bare = segment.replace(/[;:].*$/s, "").trim();
  // On some systems more than two dots lead further up. No legitimate file has such a name.
  if (/^[. ]{2,}$/.test(bare)) return "..";
  return bare.replace(/[. ]+$/, "") || bare;
}

/**
 * Resolves the dot segments of a path. Null if it leads out of a relative path, or to a place that the path alone does
 * not determine: a network share, a home directory, the current directory of a drive.
 */
function resolve(origin: string, path: string, way: Way, isUri: boolean): Reading | null {
  let rest = path;
  let drive: string | null = null;
  if (origin === LOCAL) {
    // On Windows two slashes begin the name of another machine.
    if (/^[/\\]{2}/.test(rest)) return null;
    const bare = rest.replace(/^\/(?=[A-Za-z][:|])/, "");
    if (/^[A-Za-z][:|]/.test(bare)) {
      // `/C:/x` is a different file as a path and as part of a URI.
      if (!DRIVE.test(bare) || (!isUri && bare !== rest)) return null;
      drive = bare[0].toLowerCase();
      rest = bare.slice(2);
    }
  } else if (origin === RELATIVE && /^(?:~|[/\\]|[A-Za-z][:|])/.test(rest)) return null;
  // A drive means Windows, where a backslash is a separator in every reading.
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
