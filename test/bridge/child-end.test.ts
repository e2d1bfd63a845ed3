import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createChildEnd } from "../../src/bridge/child-end.ts";
import type { ServerListener } from "../../src/bridge/server-end.ts";
import type { ChildServer } from "../../src/link/child.ts";
import { openMessage, whole } from "../../src/message/message.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const lines = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

/** A session with a process that a test speaks for. Its listener has room when the test says so. */
function begin({ onMessage = (): void => {} } = {}) {
  const stdin = new PassThrough({ highWaterMark: 1 });
  const stdout = new PassThrough();
  const child = {
    stdin,
    stdout,
    ended: new Promise(() => {}),
    kill() {},
    release() {},
  } as Partial<ChildServer> as ChildServer;
  const heard: string[] = [];
  let isFull = false;
  let waiting: (() => void)[] = [];
  const listener: ServerListener = {
    message({ bytes, start, end }) {
      heard.push(bytes.toString("utf8", start, end));
      onMessage();
    },
    lost: ({ id, like }, size) => void heard.push(`lost ${like} ${id?.key}: ${size} bytes`),
    isWaiting: () => false,
    givenUp: () => {},
    trouble() {},
    get isFull() {
      return isFull;
    },
    whenReady(resume) {
      if (isFull) waiting.push(resume);
      else resume();
    },
  };
  const end = createChildEnd({ child, listener, maxMessageBytes: 1000, graceMs: 10, onEnd() {} });
  return {
    stdin,
    stdout,
    heard,
    end,
    fill: (): void => void (isFull = true),
    empty(): void {
      isFull = false;
      const resumed = waiting;
      waiting = [];
      for (const resume of resumed) resume();
    },
  };
}

test("what a process says in one breath is taken as fast as it is read, and no faster", async () => {
  const process = begin({ onMessage: () => process.fill() });
  process.stdout.end(`${lines(100).join("\n")}\n`);
  await tick();
  expect(process.heard).toEqual(["line 0"]);
  process.empty();
  expect(process.heard).toEqual(["line 0", "line 1"]);
  while (process.heard.length < 100) process.empty();
  expect(process.heard).toEqual(lines(100));
});

test("a process that does not read the answers of ours has to wait; one that does not read others' has not", async () => {
  const long = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":"${"x".repeat(100_000)}"}`);
  const about = openMessage(whole(long), "up", "refuse");
  let answers = false;
  const process = begin({
    onMessage() {
      if (answers) process.end.send(long, about, []);
    },
  });
  process.end.send(long, about, []);
  expect(process.end.isFull).toBe(true);
  process.stdout.write(`${lines(10).join("\n")}\n`);
  await tick();
  expect(process.heard).toEqual(lines(10));
  answers = true;
  process.stdout.write(`${lines(10).join("\n")}\n`);
  await tick();
  expect(process.heard.length).toBe(11);
  process.stdin.resume();
  while (process.heard.length < 20) await tick();
});

test("of what is too large to keep is told whose it was", async () => {
  const process = begin();
  const large = `{"jsonrpc":"2.0","id":7,"result":"${"x".repeat(1000)}"}\n`;
  process.stdout.write(large.slice(0, 900));
  process.stdout.write(`${large.slice(900)}{"id":1}\n`);
  await tick();
  expect(process.heard).toEqual([`lost answer 7: ${large.length} bytes`, '{"id":1}']);
});

test("lines of nothing but space are passed over", async () => {
  const process = begin();
  process.stdout.write('\n \t\r\n\u0001\n{"id":1}\n');
  await tick();
  expect(process.heard).toEqual(["\u0001", '{"id":1}']);
});
