/** Collects bytes that arrive in pieces and are needed in one buffer. */
export interface Pieces {
  /** How many bytes have been collected. */
  readonly size: number;
  /** How much memory the pieces take: more than `size` while there are small pieces that have not been joined. */
  readonly weight: number;
  push(piece: Buffer): void;
  /** Returns all bytes in one buffer. The collection is empty afterwards. */
  join(): Buffer;
  /** Calls `take` for each piece in order. The collection is empty afterwards. */
  release(take: (piece: Buffer) => void): void;
}

/** At this many separate pieces, they are joined: a peer that sends single bytes must not cost an object for each. */
export const MAX_LOOSE_PIECES = 256;
/**
 * Pieces keep the whole buffers in memory that they are cut from. At this size the pieces are copied into one buffer.
 */
export const MAX_LOOSE_BYTES = 16 * 1024 * 1024;
/** Memory that V8 and Node use for one small Buffer besides its bytes, as measured. */
const PIECE_COST = 400;

/**
 * Makes an empty collection. Pieces are joined once at the end, or a few hundred at a time: joining on every piece
 * would be quadratic for a large message that arrives in small reads.
 */
export function createPieces(): Pieces {
  return new PieceList();
}

/** A class, because every request and response has one, and most have a single piece. */
class PieceList implements Pieces {
  size = 0;
  weight = 0;
  #kept: Buffer[] = [];
  #loose = 0; // how many of the last pieces have not been joined yet
  #looseBytes = 0; // size of the buffers that those are cut from
  #joinedBytes = 0;
  #parent: ArrayBufferLike | null = null; // the buffer of the last piece; the next is often cut from it, too

  push(piece: Buffer): void {
    this.#kept.push(piece);
    this.#loose++;
    this.size += piece.length;
    if (piece.buffer !== this.#parent) {
      this.#parent = piece.buffer;
      this.#looseBytes += piece.buffer.byteLength;
    }
    if (this.#loose >= MAX_LOOSE_PIECES || this.#looseBytes >= MAX_LOOSE_BYTES) this.#joinLoose();
    this.weight = this.#joinedBytes + this.#looseBytes + this.#kept.length * PIECE_COST;
  }

  join(): Buffer {
    const all = this.#clear();
    return all.length === 1 ? all[0] : Buffer.concat(all);
  }

  release(take: (piece: Buffer) => void): void {
    for (const piece of this.#clear()) take(piece);
  }

  #clear(): Buffer[] {
    const all = this.#kept;
    this.#kept = [];
    this.#loose = this.#looseBytes = this.#joinedBytes = 0;
    this.#parent = null;
    this.size = this.weight = 0;
    return all;
  }

  #joinLoose(): void {
    const last = this.#kept.splice(this.#kept.length - this.#loose);
    // Not from the pool that small Buffers share: one Buffer would keep the whole pool slab in memory.
    const joined = Buffer.allocUnsafeSlow(last.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of last) at += piece.copy(joined, at);
    this.#kept.push(joined);
    this.#joinedBytes += joined.length;
    this.#loose = this.#looseBytes = 0;
    this.#parent = null;
  }
}
