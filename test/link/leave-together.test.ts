import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { leaveTogether } from "../../src/link/leave-together.ts";

test("what is held back leaves in this turn of the event loop, in order, and nothing after it waits", async () => {
  const written: string[] = [];
  const stream = (): Writable =>
    new Writable({
      write(chunk: Buffer, _encoding, callback) {
        written.push(chunk.toString());
        callback();
      },
    });
  const [one, other] = [stream(), stream()];
  leaveTogether(one);
  one.write("a");
  leaveTogether(other);
  other.write("b");
  leaveTogether(one);
  one.write("c");
  expect(written).toEqual([]);
  await new Promise(setImmediate);
  expect(written).toEqual(["b", "a", "c"]);
  other.write("d");
  expect(written).toEqual(["b", "a", "c", "d"]);
});
