import type { Call } from "./call.ts";

/** What a link knows about the message it received: how it is framed, and what its headers say about it. */
export interface Exchange {
  /** Whether line breaks are allowed between the tokens of a message. Where each message is one line, they are not. */
  readonly breaks: "allow" | "refuse";
  /** Whether the message is part of a batch. */
  readonly isMember?: boolean;
  /** Whether the link has more than one stream to send on, and must know which calls a message belongs to. */
  readonly routed: boolean;
  /** What the headers of an HTTP request say about the message in its body. Null if the message has no headers. */
  readonly mirrored: Mirrored | null;
  /**
   * The calls that can be answered on the stream that this message arrived on: over HTTP a response belongs to the
   * stream of its request. Null if all calls share one stream.
   */
  readonly answerable: readonly Call[] | null;
  /** The HTTP response that the client waits for. Null if the client cannot disconnect before the session ends. */
  readonly presence: Presence | null;
  /** Whether the stream was resumed, and may repeat a response that was received before. */
  readonly resumed: boolean;
}

/** Something that closes when the client disconnects, such as the response object of an HTTP request. */
export interface Presence {
  readonly destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/** The headers that repeat parts of the body, required since 2026-07-28. Null for a missing header. */
export interface Mirrored {
  readonly version: string | null;
  readonly method: string | null;
  readonly name: string | null;
  /** The headers for tool arguments: names in lower case, and values. */
  readonly params: readonly (readonly [string, string])[];
}

/** The exchange of a transport with one message on each line. */
export const LINES: Exchange = {
  breaks: "refuse",
  routed: false,
  mirrored: null,
  answerable: null,
  presence: null,
  resumed: false,
};
