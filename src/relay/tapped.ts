import { nameConnection, type Tap, type TapSide } from "../wire/tap.ts";

/** What a tap is told of one pair of byte streams. */
export interface TappedPair {
  /** Bytes that came. */
  readonly in: (bytes: Buffer) => void;
  /** Bytes that were sent. */
  readonly out: (bytes: Buffer) => void;
  /** Nothing more comes. */
  readonly end: () => void;
}

/** Lets a tap see a pair of streams; null where none is attached. */
export function tapPair(tap: Tap | null, side: TapSide, kind: "stdio" | "child"): TappedPair | null {
  if (tap === null) return null;
  const connection = nameConnection(kind);
  return {
    in: (bytes) => tap.bytes(side, "in", connection, bytes),
    out: (bytes) => tap.bytes(side, "out", connection, bytes),
    end: () => tap.end(side, connection),
  };
}
