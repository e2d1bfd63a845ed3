/** What a tool may do, as far as one can tell. */
export type Effect =
  /** It says that it changes nothing, that it only adds, or that it may destroy something. */
  | "read-only"
  | "writes"
  | "destructive"
  /** It says nothing, but it is called like something that destroys. */
  | "destructive?"
  /** It says nothing, and its name does not either. */
  | null;

/**
 * What a tool says of itself in its annotations, or what its name says. The specification takes a tool for destructive
 * that is not read-only and does not say otherwise. A server may lie: this is for people, and nothing is decided by it.
 */
export function effectOf(name: string, definition: unknown): Effect {
  const hints = readAnnotations(definition);
  if (hints["readOnlyHint"] === true) return "read-only";
  if (hints["destructiveHint"] === false) return "writes";
  if (hints["destructiveHint"] === true || hints["readOnlyHint"] === false) return "destructive";
  return wordsIn(name).some((word) => DESTRUCTIVE.has(word)) ? "destructive?" : null;
}

/** A pattern for `--deny` that matches these names and no others; null where there are none, or too many for a line. */
export function denyPattern(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const escaped = names.map((name) => name.replaceAll(/[^\w-]/g, escapeUnit));
  const pattern = escaped.length === 1 ? `^${escaped[0]}$` : `^(${escaped.join("|")})$`;
  return pattern.length > MAX_PATTERN_CHARACTERS ? null : pattern;
}

const MAX_PATTERN_CHARACTERS = 1000;

// Also the comma, at which --deny splits, and all that a shell would take for something else.
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function readAnnotations(definition: unknown): Readonly<Record<string, unknown>> {
  if (typeof definition !== "object" || definition === null) return {};
  const { annotations } = definition as { annotations?: unknown };
  return typeof annotations === "object" && annotations !== null ? (annotations as Record<string, unknown>) : {};
}

/** delete_file, deleteFile, DELETE-FILE: delete and file. */
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
