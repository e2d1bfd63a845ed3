import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { COMMAND, fixture, type Program, readCount, test, until } from "../support/processes.ts";

const MEGABYTE = 1024 * 1024;

/** Kilobytes by which Fairlead may grow, whatever its peers do. */
const MAX_GROWTH = 64 * 1024;

/** By how many kilobytes it has been larger, at its largest, than it was when this was called. */
function watchGrowth({ pid }: Program): () => number {
  const before = readCount(pid, "status", "VmRSS");
  return () => readCount(pid, "status", "VmHWM") - before;
}

/** Waits until a number has not changed for a second. */
async function settled(read: () => number): Promise<number> {
  let last = -1;
  let since = performance.now();
  return await until(
    () => {
      const now = read();
      if (now !== last) since = performance.now();
      last = now;
      return performance.now() - since > 1000 ? now : undefined;
    },
    "a number that stays",
    30_000,
  );
}

/** Counts and hashes all that comes but the last line, which is kept. */
async function readFlood(source: Readable): Promise<{ bytes: number; hash: string; last: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  let kept = Buffer.alloc(0);
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const all = Buffer.concat([kept, chunk]);
    const last = all.lastIndexOf("\n", -2) + 1;
    hash.update(all.subarray(0, last));
    bytes += last;
    kept = all.subarray(last);
  }
  return { bytes, hash: hash.digest("hex"), last: kept.toString() };
}

/** Counts the lines that come. */
function countLines(source: Readable): () => number {
  let lines = 0;
  source.on("data", (chunk: Buffer) => {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  });
  return () => lines;
}

/** So many messages, made by their number, in blocks. */
function* messages(count: number, make: (id: number) => string): Generator<Buffer> {
  for (let from = 0; from < count; from += 64) {
    const block = Array.from({ length: Math.min(64, count - from) }, (_, at) => make(from + at));
    yield Buffer.from(block.join(""));
  }
}

/** A client's flood of so many megabytes: numbered notifications. */
function flood(megabytes: number): Generator<Buffer> {
  const text = "u".repeat(1000);
  return messages(megabytes * 1024, (n) => {
    return `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":${n},"data":"${text}"}}\n`;
  });
}

function measure(blocks: Iterable<Buffer>): { bytes: number; hash: string } {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const block of blocks) {
    hash.update(block);
    bytes += block.length;
  }
  return { bytes, hash: hash.digest("hex") };
}

function call(id: number, name: string, text = ""): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{"text":"${text}"}}}\n`;
}

describe("a client that does not read", () => {
  test("stops a server that floods it, costs no memory, and gets all of it when it reads again", async ({ start }) => {
    const fairlead = start(fixture("flooder.mjs", "200"), { read: false });
    const server = await fairlead.sees("flooder.mjs");
    await until(() => fairlead.stdout.readableLength > 0, "the first of the flood");
    const growth = watchGrowth(fairlead);
    const written = (): number => readCount(server.pid, "io", "wchar");
    expect(await settled(written)).toBeLessThan(10 * MEGABYTE);
    expect(growth()).toBeLessThan(MAX_GROWTH);
    const reading = readFlood(fairlead.stdout);
    await until(() => written() > 200 * MEGABYTE, "the whole flood", 60_000);
    expect(growth()).toBeLessThan(MAX_GROWTH);
    fairlead.stdin.end();
    const { bytes, hash, last } = await reading;
    expect(bytes).toBeGreaterThan(200 * MEGABYTE);
    expect(last).toContain(`"data":"${hash}"`);
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
  }, 120_000);

  test("and makes a hundred thousand denied calls costs no memory, and gets every answer", async ({ start }) => {
    const fairlead = start(fixture("good.mjs"), { options: ["--deny", "secret"], read: false });
    fairlead.say({ jsonrpc: "2.0", id: "list", method: "tools/list" });
    await until(() => fairlead.stdout.readableLength > 0, "the list");
    const growth = watchGrowth(fairlead);
    const count = 100_000;
    Readable.from(messages(count, (id) => call(id, "secret"))).pipe(fairlead.stdin, { end: false });
    await settled(() => readCount(fairlead.pid, "io", "rchar"));
    expect(growth()).toBeLessThan(MAX_GROWTH);
    const answers: Buffer[] = [];
    const lines = countLines(fairlead.stdout.on("data", (chunk: Buffer) => answers.push(chunk)));
    await until(() => lines() > count, "all answers");
    expect(growth()).toBeLessThan(MAX_GROWTH);
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
    const [, ...denials] = Buffer.concat(answers).toString().trimEnd().split("\n");
    const denial = '"error":{"code":-32601,"message":"Tool not found: secret"}}';
    expect(denials.filter((line, id) => line !== `{"jsonrpc":"2.0","id":${id},${denial}`)).toEqual([]);
    expect(denials).toHaveLength(count);
  });

  // Its answers stand in line with the server. What it has to say is another matter.
  test("before it has said everything may say everything", async ({ start }) => {
    const fairlead = start(fixture("hoarder.mjs"), { read: false });
    let isSaid = false;
    const text = "q".repeat(2000);
    Readable.from(messages(900, (id) => call(id, "open", text)))
      .pipe(fairlead.stdin)
      .on("finish", () => (isSaid = true));
    await until(() => isSaid, "everything said", 20_000);
    const lines = countLines(fairlead.stdout);
    await until(() => lines() === 900, "900 answers", 20_000);
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
  });

  test("can be stopped all the same", async ({ start }) => {
    const fairlead = start(fixture("flooder.mjs", "200"), { read: false });
    const server = await fairlead.sees("flooder.mjs");
    await settled(() => readCount(server.pid, "io", "wchar"));
    const since = performance.now();
    process.kill(fairlead.pid, "SIGTERM");
    expect(await fairlead.end()).toMatchObject({ code: 1, left: [] });
    expect(performance.now() - since).toBeLessThan(8000);
  });

  test("can be stopped at once by a second signal", async ({ start }) => {
    const fairlead = start(fixture("flooder.mjs", "200"), { read: false });
    const server = await fairlead.sees("flooder.mjs");
    await settled(() => readCount(server.pid, "io", "wchar"));
    const since = performance.now();
    process.kill(fairlead.pid, "SIGTERM");
    await delay(500);
    if (!fairlead.isOver) process.kill(fairlead.pid, "SIGTERM");
    expect(await fairlead.end()).toMatchObject({ code: 1, left: [] });
    expect(performance.now() - since).toBeLessThan(3500);
  });
});

describe("a server that does not read", () => {
  test("stops a client that floods it, costs no memory, and gets all of it when it reads again", async ({ start }) => {
    const fairlead = start(fixture("late-reader.mjs"));
    await fairlead.hears("ready");
    const server = await fairlead.sees("late-reader.mjs");
    const growth = watchGrowth(fairlead);
    const { bytes, hash } = measure(flood(200));
    const before = readCount(fairlead.pid, "io", "rchar");
    const taken = (): number => readCount(fairlead.pid, "io", "rchar") - before;
    Readable.from(flood(200)).pipe(fairlead.stdin, { end: false });
    expect(await settled(taken)).toBeLessThan(10 * MEGABYTE);
    expect(growth()).toBeLessThan(MAX_GROWTH);
    process.kill(server.pid, "SIGUSR2");
    await until(() => taken() >= bytes, "the whole flood", 60_000);
    expect(growth()).toBeLessThan(MAX_GROWTH);
    fairlead.stdin.end();
    const { stdout, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 0, left: [] });
    expect(stdout).toContain(`"data":"${hash}"`);
  }, 120_000);

  // It writes an answer and does not read; the client reads and goes on writing. If we did not read
  // the answer because the way to the server is full, all three would wait for each other.
  test("while it writes is heard, however much stands in line for it", async ({ start }) => {
    const fairlead = start(fixture("one-thing-at-a-time.mjs"), { read: false });
    const lines = countLines(fairlead.stdout);
    const text = "q".repeat(2000);
    Readable.from(messages(900, (id) => call(id, "open", text))).pipe(fairlead.stdin);
    await until(() => lines() === 900, "900 answers", 20_000);
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
  });

  test("can be stopped all the same", async ({ start }) => {
    const fairlead = start(fixture("late-reader.mjs"));
    await fairlead.hears("ready");
    Readable.from(flood(10)).pipe(fairlead.stdin);
    await settled(() => readCount(fairlead.pid, "io", "rchar"));
    const since = performance.now();
    process.kill(fairlead.pid, "SIGTERM");
    expect(await fairlead.end()).toMatchObject({ code: 1, left: [] });
    expect(performance.now() - since).toBeLessThan(8000);
  });
});

test("a server that asks and asks, and does not read what `fairlead tools` answers, has to wait", async ({
  startProgram,
}) => {
  const words = ["tools", "--tools-timeout", "6s", "--", ...fixture("pinger.mjs")];
  const fairlead = startProgram([process.execPath, COMMAND, ...words]);
  const server = await fairlead.sees("pinger.mjs");
  const growth = watchGrowth(fairlead);
  expect(await settled(() => readCount(server.pid, "io", "wchar"))).toBeLessThan(10 * MEGABYTE);
  expect(growth()).toBeLessThan(MAX_GROWTH);
  expect(await fairlead.end()).toMatchObject({ code: 1, left: [] });
});
