import type { Look } from "./view.ts";

/** A compiled condition that has no nested conditions. */
export interface Leaf {
  /** Whether the condition holds. Throws if that cannot be judged. */
  test(look: Look): boolean;
  /** The value that the condition looked at, formatted for people. */
  saw(look: Look): string;
}
