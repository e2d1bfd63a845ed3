/** What a tool may do, as far as its definition tells. */
export type Effect =
  /** Its annotations say that it changes nothing, that it only adds, or that it may destroy something. */
  | "read-only"
  | "writes"
  | "destructive"
  /** It has no annotations, but its name suggests that it destroys something. */
  | "destructive?"
  /** Neither its annotations nor its name tell. */
  | null;

/**
 * The effect of a tool according to its annotations, or else its name. By the specification, a tool that is not
 * read-only is destructive unless it says otherwise. A server may lie: this is only shown to people, and no decision
 * depends on it.
 */
export function effectOf(name: string, definition: unknown): Effect {
  const hints = readAnnotations(definition);
  if (hints["readOnlyHint"] === true) return "read-only";
  if (hints["destructiveHint"] === false) return "writes";
  if (hints["destructiveHint"] === true || hints["readOnlyHint"] === false) return "destructive";
  return wordsIn(name).some((word) => DESTRUCTIVE.has(word)) ? "destructive?" : null;
}

/** A pattern for `--deny` that matches exactly these names; null if there are none or it would be too long. */
export function denyPattern(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const escaped = names.map((name) => name.replaceAll(/[^\w-]/g, escapeUnit));
  const pattern = escaped.length === 1 ? `^${escaped[0]}$` : `^(${escaped.join("|")})$`;
  return pattern.length > MAX_PATTERN_CHARACTERS ? null : pattern;
}

const MAX_PATTERN_CHARACTERS = 1000;

// Also escapes the comma, at which `--deny` splits its value, and all characters that are special in a shell.
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function readAnnotations(definition: unknown): Readonly<Record<string, unknown>> {
  if (typeof definition !== "object" || definition === null) return {};
  const { annotations } = definition as { annotations?: unknown };
  return typeof annotations === "object" && annotations !== null ? (annotations as Record<string, unknown>) : {};
}

/** Splits a name into words: delete_file, deleteFile and DELETE-FILE give delete and file. */
function wordsIn(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/);
}

const DESTRUCTIVE = new Set(
  (
    "delete remove drop destroy erase purge truncate wipe kill terminate revoke " +
    "write overwrite edit update replace patch rename move reset merge push " +
    "execute exec eval run shell command deploy send publish transfer pay"
  ).split(" "),
);
