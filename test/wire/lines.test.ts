import { isAscii } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineFramer } from "../../src/wire/lines.ts";
import { settledMemory } from "../support/memory.ts";
import { runs } from "../support/runs.ts";

interface Piece {
  readonly kind: "line" | "excess" | "tail";
  readonly text: string;
  readonly flag: boolean;
}

/** What a framer hands on for these chunks, in order. */
function frame(maxLineBytes: number, chunks: readonly Buffer[], end = true): Piece[] {
  const pieces: Piece[] = [];
  const add = (kind: Piece["kind"], bytes: Buffer, flag: boolean): void => {
    pieces.push({ kind, text: bytes.toString("latin1"), flag });
  };
  const framer = createLineFramer(maxLineBytes, {
    line: (bytes, from, to, ascii) => {
      // ASCII is said of the whole buffer; of a part it must hold all the more.
      expect(!ascii || isAscii(bytes.subarray(from, to))).toBe(true);
      add("line", bytes.subarray(from, to), true);
    },
    excess: (bytes, ends) => add("excess", bytes, ends),
    tail: (bytes, isWhole) => add("tail", bytes, isWhole),
  });
  for (const chunk of chunks) framer.push(chunk);
  if (end) framer.end();
  return pieces;
}

/** A stream with many newlines, short lines, long lines and any bytes. */
const streams = fc
  .array(fc.oneof(fc.constant("\n"), fc.string({ unit: "binary", maxLength: 30 }), fc.constant("x".repeat(40))), {
    maxLength: 20,
  })
  .map((parts) => Buffer.from(parts.join("")));

const cuts = fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 8 });

function cutBy(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + sizes[turn % sizes.length];
    chunks.push(Buffer.from(bytes.subarray(at, end)));
    at = end;
  }
  return chunks;
}

test("a pause ends with the line it is said in, and what is left comes back", () => {
  const seen: string[] = [];
  const framer = createLineFramer(5, {
    line: (bytes, from, to) => {
      seen.push(bytes.toString("latin1", from, to));
      framer.pause();
    },
    excess: (bytes) => seen.push(`excess ${bytes.toString()}`),
    tail: (bytes) => seen.push(`tail ${bytes.toString()}`),
  });
  framer.pause(); // outside of a line it means nothing
  let left = framer.push(Buffer.from("a\nb\ntoo long\nc\nd"));
  expect(left?.toString()).toBe("b\ntoo long\nc\nd");
  while (left !== null) left = framer.push(left);
  expect(framer.push(Buffer.from("e\n"))).toBeNull();
  expect(seen).toEqual(["a\n", "b\n", "excess too long\n", "c\n", "de\n"]);
});

describe("however a stream is cut", () => {
  test("the pieces put together are the stream", () => {
    fc.assert(
      fc.property(streams, cuts, fc.integer({ min: 0, max: 40 }), (stream, sizes, max) => {
        const pieces = frame(max, cutBy(stream, sizes));
        expect(pieces.map(({ text }) => text).join("")).toBe(stream.toString("latin1"));
      }),
      { numRuns: runs(1000) },
    );
  });

  test("the lines are the same, and are those that split() finds and the limit lets through", () => {
    fc.assert(
      fc.property(streams, cuts, fc.integer({ min: 0, max: 40 }), (stream, sizes, max) => {
        const whole = stream.toString("latin1").split("\n");
        const wanted = whole.slice(0, -1).filter((line) => line.length <= max);
        const lines = frame(max, cutBy(stream, sizes)).filter(({ kind }) => kind === "line");
        expect(lines.map(({ text }) => text)).toEqual(wanted.map((line) => `${line}\n`));
      }),
      { numRuns: runs(1000) },
    );
  });

  test("an over-long line ends once, with its newline", () => {
    fc.assert(
      fc.property(streams, cuts, (stream, sizes) => {
        const whole = stream.toString("latin1").split("\n");
        const tooLong = whole.slice(0, -1).filter((line) => line.length > 10);
        const ends = frame(10, cutBy(stream, sizes)).filter(({ kind, flag }) => kind === "excess" && flag);
        expect(ends).toHaveLength(tooLong.length);
        for (const { text } of ends) expect(text.endsWith("\n")).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });
});

test("a line of exactly the limit passes, and one byte more is excess", () => {
  for (const chunks of [["12345\n123456\n"], ["12345", "\n", "12345", "6", "\n"], Array.from("12345\n123456\n")]) {
    const pieces = frame(
      5,
      chunks.map((text) => Buffer.from(text)),
    );
    expect(pieces.filter(({ kind }) => kind === "line").map(({ text }) => text)).toEqual(["12345\n"]);
    const excess = pieces.filter(({ kind }) => kind === "excess");
    expect(excess.map(({ text }) => text).join("")).toBe("123456\n");
  }
});

test("ten megabytes pass in chunks of 64 kB, and a byte more does not", () => {
  const limit = 10 * 1024 * 1024;
  const line = Buffer.alloc(limit + 1, "a");
  line[limit] = 0x0a;
  const chunks = cutBy(line, [65_536]);
  const [whole] = frame(limit, chunks);
  expect(whole.kind).toBe("line");
  expect(whole.text.length).toBe(limit + 1);
  expect(frame(limit - 1, chunks).every(({ kind }) => kind === "excess")).toBe(true);
});

test("what has no newline is a tail at the end of the stream, and no line", () => {
  expect(frame(100, [Buffer.from("whole\nhal"), Buffer.from("f")])).toEqual([
    { kind: "line", text: "whole\n", flag: true },
    { kind: "tail", text: "half", flag: true },
  ]);
  expect(frame(100, [Buffer.from("whole\n")])).toHaveLength(1);
});

test("the rest of an over-long line is no message, however much it looks like one", () => {
  const pieces = frame(10, [Buffer.from("x".repeat(20)), Buffer.from('{"id":1}\n{"id":2}\n')]);
  expect(pieces.filter(({ kind }) => kind === "line").map(({ text }) => text)).toEqual(['{"id":2}\n']);
});

test("an over-long line that never ends leaves a tail that is not whole", () => {
  expect(frame(3, [Buffer.from("12345")])).toEqual([
    { kind: "excess", text: "12345", flag: false },
    { kind: "tail", text: "", flag: false },
  ]);
});

test("a line that comes a byte at a time costs neither an object a byte nor the square of its length", () => {
  const bytes = Buffer.from("x");
  const feed = (count: number): number => {
    const framer = createLineFramer(10 * 1024 * 1024, { line: () => {}, excess: () => {}, tail: () => {} });
    const before = settledMemory().heapUsed;
    const start = performance.now();
    for (let sent = 0; sent < count; sent++) framer.push(bytes);
    const time = performance.now() - start;
    // A Buffer is about a hundred bytes on the heap: with one for each byte this would be twenty times as much.
    expect(settledMemory().heapUsed - before).toBeLessThan(count * 5);
    framer.push(Buffer.from("\n"));
    return time;
  };
  feed(50_000);
  const once = Math.max(feed(100_000), 10);
  expect(feed(400_000)).toBeLessThan(once * 16);
});

test("bytes that are not kept are not held either", () => {
  let seen = 0;
  const framer = createLineFramer(1000, { line: () => {}, excess: (bytes) => (seen += bytes.length), tail: () => {} });
  const chunk = Buffer.alloc(65_536, "x");
  framer.push(chunk);
  const before = settledMemory().arrayBuffers;
  for (let sent = 0; sent < 320; sent++) framer.push(Buffer.from(chunk));
  expect(seen).toBe(321 * 65_536);
  expect(settledMemory().arrayBuffers - before).toBeLessThan(10 * 1024 * 1024);
});
