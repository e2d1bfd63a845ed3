import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createBodyCollector } from "../../src/bridge/body-back.ts";
import { createPieces, MAX_LOOSE_BYTES, MAX_LOOSE_PIECES } from "../../src/wire/pieces.ts";
import { settledMemory } from "../support/memory.ts";
import { runs } from "../support/runs.ts";

test("however bytes were cut, they come out as they went in", () => {
  const sizes = fc.array(fc.oneof(fc.nat(3), fc.nat(5000)), { maxLength: 700 });
  fc.assert(
    fc.property(sizes, fc.boolean(), (lengths, isJoined) => {
      const pieces = createPieces();
      const sent = lengths.map((length, nth) => Buffer.alloc(length, nth % 256));
      for (const piece of sent) pieces.push(piece);
      const whole = Buffer.concat(sent);
      expect(pieces.size).toBe(whole.length);
      expect(pieces.weight).toBeGreaterThanOrEqual(whole.length);
      const released: Buffer[] = [];
      if (isJoined) released.push(pieces.join());
      else pieces.release((piece) => released.push(piece));
      expect(Buffer.concat(released).equals(whole)).toBe(true);
      expect([pieces.size, pieces.weight, pieces.join().length]).toEqual([0, 0, 0]);
    }),
    { numRuns: runs(200) },
  );
});

test("bytes that came in one piece are that piece, not a copy", () => {
  const piece = Buffer.from("whole");
  const pieces = createPieces();
  pieces.push(piece);
  expect(pieces.join()).toBe(piece);
});

/** How many pieces are kept of so many. */
function count(sent: number): number {
  const pieces = createPieces();
  for (let nth = 0; nth < sent; nth++) pieces.push(Buffer.from("x"));
  let kept = 0;
  pieces.release(() => kept++);
  return kept;
}

test("pieces are kept apart up to a number, and joined with the last one", () => {
  expect(count(MAX_LOOSE_PIECES - 1)).toBe(MAX_LOOSE_PIECES - 1);
  expect(count(MAX_LOOSE_PIECES)).toBe(1);
  expect(count(MAX_LOOSE_PIECES + 1)).toBe(2);
});

test("pieces of large buffers are copied before those buffers take too much", () => {
  const parent = 1024 * 1024;
  const pieces = createPieces();
  for (let nth = 1; nth < MAX_LOOSE_BYTES / parent; nth++) pieces.push(Buffer.alloc(parent).subarray(0, 1));
  expect(pieces.weight).toBeGreaterThan(MAX_LOOSE_BYTES - 2 * parent);
  pieces.push(Buffer.alloc(parent).subarray(0, 1));
  expect(pieces.weight).toBeLessThan(1000);
});

test("the weight says what small pieces really take", () => {
  const pieces = createPieces();
  const before = settledMemory();
  for (let nth = 0; nth < 100_000; nth++) pieces.push(Buffer.from("x"));
  const after = settledMemory();
  const taken = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
  expect(pieces.size).toBe(100_000);
  expect(taken).toBeLessThan(pieces.weight + 100_000);
  expect(pieces.weight).toBeLessThan(5 * pieces.size);
});

describe("the body of an answer", () => {
  test("that comes a byte at a time costs no object a byte", () => {
    const collector = createBodyCollector(1_000_000);
    const before = settledMemory();
    for (let sent = 0; sent < 500_000; sent++) collector.push(Buffer.from("x"));
    const after = settledMemory();
    expect(after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers).toBeLessThan(5_000_000);
    expect(collector.end().body?.length).toBe(500_000);
  });

  test("is whole at its limit, and lost with one byte more", () => {
    for (const [size, isWhole] of [
      [10, true],
      [11, false],
    ] as const) {
      const collector = createBodyCollector(10);
      for (let sent = 0; sent < size; sent++) collector.push(Buffer.from("x"));
      expect(collector.end().body !== null).toBe(isWhole);
    }
  });
});
