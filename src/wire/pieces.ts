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
  return new PieceList();
}

/** A class, because there is one for every request and every answer, and most have a single piece. */
class PieceList implements Pieces {
  size = 0;
  weight = 0;
  #kept: Buffer[] = [];
  #loose = 0; // how many of the last pieces were not joined yet
  #looseBytes = 0; // of the buffers that those are cut from
  #joinedBytes = 0;
  #parent: ArrayBufferLike | null = null; // what the last piece was cut from; its neighbours often are, too

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
    // Not from the pool that small buffers share: each would keep alive what others have long let go of.
    const joined = Buffer.allocUnsafeSlow(last.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of last) at += piece.copy(joined, at);
    this.#kept.push(joined);
    this.#joinedBytes += joined.length;
    this.#loose = this.#looseBytes = 0;
    this.#parent = null;
  }
}
