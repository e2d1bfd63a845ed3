/**
 * The form under which a careless peer might take two names for the same: compatibility
 * characters composed, case dropped, and everything removed that does not show or is trimmed.
 */
export function fold(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return name.normalize("NFKC").replace(unseen(), "").toLowerCase();
}

const PLAIN = /^[!-~]*$/;

// Compiled on first use: names that need it are rare, and the character sets are large.
let unseenCharacters: RegExp | undefined;
function unseen(): RegExp {
  return (unseenCharacters ??= /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\s]/gu);
}
