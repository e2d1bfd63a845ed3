import { nameConnection, type Tap, type TapSide } from "../wire/tap.ts";

/** Reports one pair of byte streams to a tap. */
export interface TappedPair {
  /** Bytes that were received. */
  readonly in: (bytes: Buffer) => void;
  /** Bytes that were sent. */
  readonly out: (bytes: Buffer) => void;
  /** The streams have ended. */
  readonly end: () => void;
}

/** Connects a tap to a pair of streams; null if no tap is attached. */
export function tapPair(tap: Tap | null, side: TapSide, kind: "stdio" | "child"): TappedPair | null {
  if (tap === null) return null;
  const connection = nameConnection(kind);
  return {
    in: (bytes) => tap.bytes(side, "in", connection, bytes),
    out: (bytes) => tap.bytes(side, "out", connection, bytes),
    end: () => tap.end(side, connection),
  };
}
