import type { Look } from "./view.ts";

/** A condition that has no others in it, ready to be asked. */
export interface Leaf {
  /** Whether it holds. Throws where that cannot be judged. */
  test(look: Look): boolean;
  /** What it looked at, for people. */
  saw(look: Look): string;
}
