import * as fc from "fast-check";
import { expect, test } from "vitest";
import { endOfString, viewWords } from "../../src/message/strings.ts";
import { scan } from "../../src/message/scan.ts";
import { runs } from "../support/runs.ts";

/** The plain way to find the quote that ends a string; -1 where it has no end, or something in it is no JSON. */
function plainEnd(bytes: Buffer, at: number, end: number): number {
  while (at < end) {
    const byte = bytes[at];
    if (byte === 0x22) return at;
    if (byte < 0x20) return -1;
    if (byte === 0x5c) {
      const next = String.fromCharCode(bytes[at + 1]);
      if (next === "u" && /^[0-9a-fA-F]{4}$/.test(bytes.toString("latin1", at + 2, at + 6))) at += 6;
      else if ('"\\/bfnrt'.includes(next)) at += 2;
      else return -1;
    } else at++;
  }
  return -1;
}

test("a string ends where a look at each byte says it does", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.uint8Array({ min: 0x1e, max: 0x24, maxLength: 60 }),
    fc.uint8Array({ min: 0x5a, max: 0x60, maxLength: 60 }),
    fc.uint8Array({ min: 0x7e, max: 0xa2, maxLength: 60 }),
    fc
      .array(fc.constantFrom("a", "é", "\\n", '\\"', "\\u00e9", "\\\\", "12345678"), { maxLength: 40 })
      .map((pieces) => Uint8Array.from(Buffer.from(`${pieces.join("")}"`))),
  );
  fc.assert(
    fc.property(bytes, fc.nat(7), fc.nat(60), fc.nat(60), (content, shift, from, cutOff) => {
      // Anywhere in memory: words begin at multiples of four.
      const buffer = Buffer.from(new Uint8Array(content.length + 8).buffer, shift, content.length);
      buffer.set(content);
      const end = Math.max(0, buffer.length - (cutOff > 40 ? cutOff - 40 : 0));
      const at = Math.min(from > 30 ? 0 : from, end);
      expect(endOfString(buffer, viewWords(buffer), at, end)).toBe(plainEnd(buffer, at, end));
    }),
    { numRuns: runs(10_000) },
  );
});

test.each([0x00, 0x09, 0x0a, 0x0d, 0x1f, 0x22])(
  "byte %i ends a string at every distance from its beginning",
  (stop) => {
    for (let shift = 0; shift < 4; shift++)
      for (let length = 0; length < 40; length++) {
        const buffer = Buffer.from(new Uint8Array(64).fill(0x61).buffer, shift, 60);
        buffer[length] = stop;
        expect(endOfString(buffer, viewWords(buffer), 0, 60)).toBe(stop === 0x22 ? length : -1);
        // A byte that stands at or behind the end is not looked at.
        expect(endOfString(buffer, viewWords(buffer), 0, length)).toBe(-1);
      }
  },
);

test("a raw control character is found at every place of a string of every length", () => {
  for (let length = 0; length <= 70; length += 1)
    for (let place = 0; place < length; place++) {
      const text = `{"a":"${"x".repeat(place)}\u0001${"x".repeat(length - place - 1)}"}`;
      const bytes = Buffer.from(text);
      expect(scan({ bytes, start: 0, end: bytes.length, ascii: true }).fault).toBe("not-json");
    }
});

test("a bad escape is found at every place of a string of every length", () => {
  for (let length = 0; length <= 70; length++)
    for (const bad of ["\\x", "\\u12g4", "\\"]) {
      const bytes = Buffer.from(`{"a":"${"x".repeat(length)}${bad}`);
      expect(scan({ bytes, start: 0, end: bytes.length, ascii: true }).fault).toBe("not-json");
      const closed = Buffer.from(`{"a":"${"x".repeat(length)}${bad === "\\" ? "\\y" : bad}"}`);
      expect(scan({ bytes: closed, start: 0, end: closed.length, ascii: true }).fault).toBe("not-json");
    }
});

test("a string that goes on behind the end of its message is not read there, wherever it lies in memory", () => {
  for (let shift = 0; shift < 4; shift++)
    for (let inside = 0; inside <= 30; inside++) {
      const text = `{"a":"${"x".repeat(60)}"}`;
      const bytes = Buffer.from(new Uint8Array(80).buffer, shift, text.length);
      bytes.write(text);
      const end = '{"a":"'.length + inside;
      expect(scan({ bytes, start: 0, end, ascii: true }).fault).toBe("not-json");
    }
});
