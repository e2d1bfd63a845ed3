/** What a link knows about the message it brings: how it is framed, and in time who sent it. */
export interface Exchange {
  /** Whether line breaks may stand between the tokens of a message. On a line they may not. */
  readonly breaks: "allow" | "refuse";
  /** Whether it is one of several in a batch. */
  readonly isMember?: boolean;
}

/** Messages one to a line. */
export const LINES: Exchange = { breaks: "refuse" };
