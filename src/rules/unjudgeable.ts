/**
 * Something cannot be judged because it is too large or cannot be interpreted. The condition is then "unsure", and the
 * message is refused. The client is told the reason too, so it must not reveal anything about the policy or quote the
 * message.
 */
export class Unjudgeable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "Unjudgeable";
  }
}
