/**
 * Something cannot be judged: what would be looked at is too large, or beyond what is understood. A condition then neither
 * holds nor fails to, and the message does not pass. The reason is also told to the client, so it says nothing about the
 * policy and nothing of what is in the message.
 */
export class Unjudgeable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "Unjudgeable";
  }
}
