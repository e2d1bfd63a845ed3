import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createOutlet } from "../../src/relay/outlet.ts";

/** A stream whose reader reads when it is told to. */
function slow() {
  const written: string[] = [];
  const done: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 16_384,
    write(chunk: Buffer, _encoding, callback) {
      written.push(chunk.toString());
      done.push(callback);
    },
  });
  return { stream, written, read: (): void => done.shift()?.() };
}

function collecting() {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      written.push(chunk.toString());
      callback();
    },
  });
  return { stream, written };
}

test("neighbours in one buffer leave in one write, and others in their own", () => {
  const { stream, written } = collecting();
  const outlet = createOutlet(stream, () => {});
  const bytes = Buffer.from("aa\nbb\ncc\ndd\n");
  outlet.forward(bytes, 0, 3);
  outlet.forward(bytes, 3, 6);
  expect(written).toEqual([]);
  outlet.forward(bytes, 9, 12);
  outlet.forward(Buffer.from("ee\n"), 0, 3);
  outlet.flush();
  expect(written).toEqual(["aa\nbb\n", "dd\n", "ee\n"]);
});

test("a message of ours leaves after all that came before it", () => {
  const { stream, written } = collecting();
  const outlet = createOutlet(stream, () => {});
  const bytes = Buffer.from("aa\nbb\n");
  outlet.forward(bytes, 0, 3);
  outlet.writeLine(Buffer.from("ours"));
  outlet.forward(bytes, 3, 6);
  outlet.flush();
  expect(written.join("")).toBe("aa\nours\nbb\n");
});

test("a reader that is slow makes writers wait, and each is called once when there is room", async () => {
  const { stream, read } = slow();
  const outlet = createOutlet(stream, () => {});
  const called: string[] = [];
  outlet.whenReady(() => called.push("at once"));
  outlet.writeLine(Buffer.alloc(70_000, "x"));
  expect(outlet.isFull).toBe(true);
  outlet.whenReady(() => called.push("one"));
  outlet.whenReady(() => called.push("two"));
  expect(called).toEqual(["at once"]);
  read();
  await new Promise(setImmediate);
  expect(called).toEqual(["at once", "one", "two"]);
  expect(outlet.isFull).toBe(false);
});

test("when the reader goes away nobody waits for it any more, and it is said once", async () => {
  const { stream } = slow();
  const broken: string[] = [];
  const outlet = createOutlet(stream, ({ message }) => broken.push(message));
  let called = 0;
  outlet.writeLine(Buffer.alloc(70_000, "x"));
  outlet.whenReady(() => called++);
  stream.destroy(new Error("gone"));
  await new Promise(setImmediate);
  expect(broken).toEqual(["gone"]);
  expect([called, outlet.isClosed]).toEqual([1, true]);
  outlet.writeLine(Buffer.from("more"));
  outlet.forward(Buffer.from("x\n"), 0, 2);
  outlet.flush();
  outlet.whenReady(() => called++);
  expect(called).toBe(2);
});

test("what was written leaves before the end, and nothing after it", async () => {
  const { stream, written } = collecting();
  const outlet = createOutlet(stream, () => {});
  outlet.forward(Buffer.from("last\n"), 0, 5);
  outlet.end();
  outlet.writeLine(Buffer.from("late"));
  outlet.end();
  await new Promise((resolve) => stream.on("finish", resolve));
  expect(written).toEqual(["last\n"]);
});

test("joined lines leave in one write, after this turn of the event loop and before all that comes later", async () => {
  const { stream, written } = collecting();
  const outlet = createOutlet(stream, () => {});
  outlet.joinLine(Buffer.from("a"));
  outlet.joinLine(Buffer.from("b"));
  expect(written).toEqual([]);
  await new Promise(setImmediate);
  expect(written).toEqual(["a\nb\n"]);
  const bytes = Buffer.from("d\nf\n");
  outlet.joinLine(Buffer.from("c"));
  outlet.forward(bytes, 0, 2);
  outlet.joinLine(Buffer.from("e"));
  outlet.forward(bytes, 2, 4);
  outlet.writeLine(Buffer.from("g"));
  outlet.joinLine(Buffer.from("h"));
  outlet.end();
  expect(written.slice(1).join("")).toBe("c\nd\ne\nf\ng\nh\n");
});

test("joined lines do not wait for each other when they are many", () => {
  const { stream, written } = collecting();
  const outlet = createOutlet(stream, () => {});
  outlet.joinLine(Buffer.alloc(40_000, "x"));
  expect(written).toHaveLength(0);
  outlet.joinLine(Buffer.alloc(40_000, "y"));
  expect(written).toHaveLength(1);
});
