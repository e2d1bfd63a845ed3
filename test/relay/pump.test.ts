import { PassThrough, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../src/action/outcome.ts";
import { createOutlet } from "../../src/relay/outlet.ts";
import type { Passage } from "../../src/relay/passage.ts";
import { pump } from "../../src/relay/pump.ts";
import { LINES } from "../../src/session/exchange.ts";

/** A stream whose reader reads when it is told to. */
function slow() {
  const written: string[] = [];
  const done: (() => void)[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      written.push(chunk.toString());
      done.push(callback);
    },
  });
  return { stream, written, read: (): void => done.shift()?.() };
}

/** A pump for lines of which each has the same outcome. */
function pumping(outcome: (line: string) => Outcome) {
  const source = new PassThrough();
  const onward = slow();
  const back = slow();
  const seen: string[] = [];
  const passage = {
    pass({ bytes, start, end }) {
      seen.push(bytes.toString("utf8", start, end));
      return outcome(seen.at(-1) ?? "");
    },
  } as Partial<Passage> as Passage;
  const witness = { trouble() {}, saw() {}, lost() {}, refusedLogin() {}, count() {}, counts: () => ({}), end() {} };
  const ended = pump(
    {
      direction: "up",
      source,
      onward: createOutlet(onward.stream, () => {}),
      back: createOutlet(back.stream, () => {}),
    },
    { passage, exchange: LINES, witness, maxMessageBytes: 1000 },
  );
  return { source, onward, back, seen, ended };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const lines = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);
const LONG = "x".repeat(100_000);
const answer = (line: string): Buffer => Buffer.from(`${line} ${LONG}`);

describe("a chunk of many questions with long answers", () => {
  test.each(["back", "onward"] as const)(
    "is answered as fast as the answers are read, and no faster: %s",
    async (way) => {
      const relay = pumping((line) =>
        way === "back" ? { onward: "nothing", back: answer(line) } : { onward: answer(line), back: null },
      );
      relay.source.write(`${lines(100).join("\n")}\nhalf a `);
      await tick();
      expect(relay.seen).toEqual(["line 0"]);
      for (let time = 0; time < 10; time++) {
        relay[way].read();
        await tick();
      }
      expect(relay.seen.length).toBeLessThan(12);
      // Its end waits too.
      relay.source.end("line\n");
      for (let time = 0; time < 500; time++) {
        relay[way].read();
        await tick();
      }
      await relay.ended;
      expect(relay.seen).toEqual([...lines(100), "half a line"]);
      expect(relay[way].written.join("")).toBe(relay.seen.map((line) => `${line} ${LONG}\n`).join(""));
    },
  );

  test("is taken to its end when nobody reads them any more", async () => {
    const relay = pumping((line) => ({ onward: "nothing", back: Buffer.from(`${line} ${LONG}`) }));
    relay.source.end(`${lines(100).join("\n")}\n`);
    await tick();
    expect(relay.seen).toHaveLength(1);
    relay.back.stream.destroy();
    await relay.ended;
    expect(relay.seen).toEqual(lines(100));
  });
});

test("what passes untouched is not held up by the way back, which it does not use", async () => {
  const relay = pumping((line) =>
    line === "ask" ? { onward: "nothing", back: Buffer.from(LONG) } : { onward: "untouched", back: null },
  );
  relay.source.write("ask\n");
  await tick();
  relay.back.read();
  relay.back.read();
  await tick();
  relay.source.write("a\nb\n");
  await tick();
  expect(relay.onward.written).toEqual(["a\nb\n"]);
});
