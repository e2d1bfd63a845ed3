import type { Mistake } from "./mistake.ts";
import { openPage, type PageOptions, WRONG } from "./page.ts";
import { POLICY } from "./schema.ts";
import type { PolicySettings } from "./settings.ts";
import { readTree } from "./tree.ts";

/** The longest policy file that is read. */
export const MAX_POLICY_CHARACTERS = 4 * 1024 * 1024;

/** The result of reading a policy file. */
export interface ReadPolicy {
  /** Null if there are mistakes. */
  readonly policy: PolicySettings | null;
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly Mistake[];
}

/** Reads a policy file and finds all mistakes at once. Never throws. */
export function readPolicy(text: string, options: PageOptions): ReadPolicy {
  if (text.length > MAX_POLICY_CHARACTERS) {
    const page = openPage("", options);
    const message = `The file has more than ${MAX_POLICY_CHARACTERS} characters`;
    page.wrong({ start: 0, end: 0 }, "too-large", message, "Put fewer rules into it");
    return { policy: null, mistakes: page.mistakes(), warnings: [] };
  }
  // Skip the byte order mark: it is invisible and must not count as a column.
  const page = openPage(text.startsWith("\uFEFF") ? text.slice(1) : text, options);
  const tree = readTree(page);
  let policy: PolicySettings | typeof WRONG = WRONG;
  if (tree === null) {
    // The tree can also be empty because of a syntax error.
    if (page.mistakes().length === 0)
      page.warn({ start: 0, end: 0 }, "empty-file", "The file is empty", "Write a policy, or leave out --config");
    policy = POLICY.defaults;
  } else if (tree !== WRONG) policy = POLICY.read(tree, page);
  const mistakes = page.mistakes();
  return { policy: policy === WRONG || mistakes.length > 0 ? null : policy, mistakes, warnings: page.warnings() };
}
