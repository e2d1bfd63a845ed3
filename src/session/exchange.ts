import type { Call } from "./call.ts";

/** What a link knows about the message it brings: how it is framed, and what its headers say about it. */
export interface Exchange {
  /** Whether line breaks may stand between the tokens of a message. On a line they may not. */
  readonly breaks: "allow" | "refuse";
  /** Whether it is one of several in a batch. */
  readonly isMember?: boolean;
  /** Whether the link has more than one way to send things, and must know what a message belongs to. */
  readonly routed: boolean;
  /** What the headers of an HTTP request say about the message in its body; null where there are none. */
  readonly mirrored: Mirrored | null;
  /**
   * The calls that can be answered on the stream this message came by: over HTTP an answer belongs to the stream of its
   * request. Null where there is one stream for all.
   */
  readonly answerable: readonly Call[] | null;
  /** The response that the client of this message waits for; null where nobody leaves before the conversation ends. */
  readonly presence: Presence | null;
  /** Whether the stream was resumed, and may bring an answer that was brought before. */
  readonly resumed: boolean;
}

/** Something that closes when a client has gone. The response of an HTTP request is one. */
export interface Presence {
  readonly destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/** The headers that say what the body says: required since 2026-07-28. Null where one is missing. */
export interface Mirrored {
  readonly version: string | null;
  readonly method: string | null;
  readonly name: string | null;
  /** Those for arguments of tools: names in lower case, and values. */
  readonly params: readonly (readonly [string, string])[];
}

/** Messages one to a line. */
export const LINES: Exchange = {
  breaks: "refuse",
  routed: false,
  mirrored: null,
  answerable: null,
  presence: null,
  resumed: false,
};
