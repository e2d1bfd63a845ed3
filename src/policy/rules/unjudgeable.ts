/**
 * A condition cannot be judged: what it would look at is too large, or beyond what it understands.
 * It never leaves the conditions; the rule then neither matches nor fails to.
 */
export class Unjudgeable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "Unjudgeable";
  }
}
