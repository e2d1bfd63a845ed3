import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withLock } from "../../src/login/lock.ts";

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "lock-"));
  file = join(directory, "x.lock");
});
afterEach(() => rmSync(directory, { recursive: true }));

const options = { timeoutMs: 20_000, onWait: () => {}, deadMs: 1200 };

test("one after the other does what is to be done alone", async () => {
  const events: string[] = [];
  const work = (name: string) => async (): Promise<void> => {
    events.push(`${name} begins`);
    await delay(20);
    events.push(`${name} ends`);
  };
  await Promise.all(["a", "b", "c"].map((name) => withLock(file, options, work(name))));
  for (let at = 0; at < events.length; at += 2) expect(events[at + 1]).toBe(events[at].replace("begins", "ends"));
  expect(events).toHaveLength(6);
  expect(existsSync(file)).toBe(false);
});

test("what fails leaves no lock behind", async () => {
  await expect(withLock(file, options, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(existsSync(file)).toBe(false);
});

test("a lock whose owner gives no sign of life is taken", { timeout: 20_000 }, async () => {
  writeFileSync(file, "somebody who was killed");
  let waits = 0;
  const started = Date.now();
  await withLock(file, { ...options, onWait: () => waits++ }, async () => {
    expect(readFileSync(file, "utf8")).not.toContain("killed");
  });
  expect(Date.now() - started).toBeGreaterThan(1000);
  expect(waits).toBe(1);
});

test("a lock whose owner takes long is not", { timeout: 20_000 }, async () => {
  let isOver = false;
  const first = withLock(file, options, async () => {
    await delay(3000);
    isOver = true;
  });
  await withLock(file, options, async () => expect(isOver).toBe(true));
  await first;
});

test("who has waited long enough does it all the same, and leaves the other's lock alone", async () => {
  writeFileSync(file, "another");
  expect(await withLock(file, { ...options, timeoutMs: 200 }, () => Promise.resolve(7))).toBe(7);
  expect(readFileSync(file, "utf8")).toBe("another");
});
