/** Bytes that arrive in pieces and are wanted in one. */
export interface Pieces {
  /** How many bytes have come. */
  readonly size: number;
  /** What they take up in memory: more than their size as long as there are small pieces that have not been joined. */
  readonly weight: number;
  push(piece: Buffer): void;
  /** All bytes in one buffer. The pieces are empty afterwards. */
  join(): Buffer;
  /** Hands over the pieces in their order. They are empty afterwards. */
  release(take: (piece: Buffer) => void): void;
}

/** So many pieces are kept apart. More are joined: a peer that sends a byte at a time must not cost an object a byte. */
export const MAX_LOOSE_PIECES = 256;
/** Bytes of the buffers that loose pieces are cut from, and keep alive. More are joined: a copy lets go of the buffers. */
export const MAX_LOOSE_BYTES = 16 * 1024 * 1024;
/** What V8 and Node keep for one small buffer beside its bytes, measured. */
const PIECE_COST = 400;

/**
 * Makes an empty collection. Pieces are joined once at the end, or a few hundred at a time: joining on every piece would
 * be quadratic for a large message that arrives in small reads.
 */
export function createPieces(): Pieces {
  let kept: Buffer[] = [];
  let loose = 0; // how many of the last pieces were not joined yet
  let looseBytes = 0; // of the buffers that those are cut from
  let joinedBytes = 0;
  let parent: ArrayBufferLike | null = null; // what the last piece was cut from; its neighbours often are, too

  function clear(): Buffer[] {
    const all = kept;
    kept = [];
    loose = looseBytes = joinedBytes = 0;
    parent = null;
    pieces.size = pieces.weight = 0;
    return all;
  }

  function joinLoose(): void {
    const last = kept.splice(kept.length - loose);
    // Not from the pool that small buffers share: each would keep alive what others have long let go of.
    const joined = Buffer.allocUnsafeSlow(last.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of last) at += piece.copy(joined, at);
    kept.push(joined);
    joinedBytes += joined.length;
    loose = looseBytes = 0;
    parent = null;
  }

  // Plain members: an object with getters of its own is kept until a full collection, and there is one for every request.
  const pieces: Pieces & { size: number; weight: number } = {
    size: 0,
    weight: 0,
    push(piece) {
      kept.push(piece);
      loose++;
      pieces.size += piece.length;
      if (piece.buffer !== parent) {
        parent = piece.buffer;
        looseBytes += parent.byteLength;
      }
      if (loose >= MAX_LOOSE_PIECES || looseBytes >= MAX_LOOSE_BYTES) joinLoose();
      pieces.weight = joinedBytes + looseBytes + kept.length * PIECE_COST;
    },
    join() {
      const all = clear();
      return all.length === 1 ? all[0] : Buffer.concat(all);
    },
    release(take) {
      for (const piece of clear()) take(piece);
    },
  };
  return pieces;
}
