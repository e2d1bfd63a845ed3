/**
 * The form under which a careless peer might take two names for the same: compatibility
 * characters composed, case dropped, and everything removed that does not show or is trimmed.
 */
export function fold(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return foldSeen(compose(name));
}

/** The name as it looks: compatibility characters composed, and nothing in it that does not show. */
export function compose(name: string): string {
  return PLAIN.test(name) ? name : name.normalize("NFKC").replace(unseen(), "");
}

/** Longer names outside ASCII are not folded: what composes can grow to eighteen times its size. */
const MAX_FOLDED_CHARACTERS = 128;

/** The same for a name that a peer chose; null where it is too long to be compared. */
export function foldName(name: string): string | null {
  if (PLAIN.test(name)) return name.toLowerCase();
  const folded = name.length > MAX_FOLDED_CHARACTERS ? null : fold(name);
  return folded === null || folded.length > 2 * MAX_FOLDED_CHARACTERS ? null : folded;
}

/** Whether a key would be taken for one of these, which are folded, short and made of ASCII letters. */
export function isAlike(key: string, folded: ReadonlySet<string>): boolean {
  if (PLAIN.test(key)) return folded.has(key.toLowerCase());
  // Of what shows, no two characters fold to one letter: a long key cannot become a short one. This
  // spares us composing what can grow to many times its size.
  const seen = key.replace(unseen(), "");
  return seen.length <= MAX_ALIKE && folded.has(fold(seen));
}

/** Twice the longest key that matters, because some characters count as two. */
const MAX_ALIKE = 32;

const PLAIN = /^[!-~]*$/;

function foldSeen(text: string): string {
  // Until nothing changes: what stood apart may now compose, and a small letter may compose where the
  // capital did not. A sigma is a sigma, at the end of a word too.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const folded = text.normalize("NFKC").toLowerCase().replaceAll("ς", "σ");
    if (folded === text) break;
    text = folded;
  }
  return text;
}

const MAX_ROUNDS = 4;

// Compiled on first use: names that need it are rare, and the character sets are large.
let unseenCharacters: RegExp | undefined;
function unseen(): RegExp {
  return (unseenCharacters ??= /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\s]/gu);
}
