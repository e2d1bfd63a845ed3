import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeAuthor } from "../../src/record/audit/author.ts";
import { takeLock } from "../../src/record/file-lock.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlead-lock-"));
  file = join(folder, "busy");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a lock is waited for, and no longer than asked", async () => {
  const release = await takeLock(file, { timeoutMs: 0 });
  expect(await takeLock(file, { timeoutMs: 100 })).toBeNull();
  const next = takeLock(file, { timeoutMs: 5000 });
  release?.();
  (await next)?.();
  expect(readdirSync(folder)).toEqual([]);
});

test("who has to wait for more than a moment is told so once", async () => {
  const release = await takeLock(file, { timeoutMs: 0 });
  let waits = 0;
  expect(await takeLock(file, { timeoutMs: 700, onWait: () => waits++ })).toBeNull();
  expect(waits).toBe(1);
  release?.();
});

test("the lock of a process that is gone is taken at once", async () => {
  writeFileSync(file, JSON.stringify({ ...describeAuthor(), pid: 999_999_999 }));
  const release = await takeLock(file, { timeoutMs: 200 });
  expect(readFileSync(file, "utf8")).toContain(String(process.pid));
  release?.();
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ["empty", ""],
  ["nonsense", '{"pid":"x"}'],
])("an old lock that is %s is taken at once", async (_, text) => {
  writeFileSync(file, text);
  const past = new Date(Date.now() - 60_000);
  utimesSync(file, past, past);
  (await takeLock(file, { timeoutMs: 200 }))?.();
  expect(readdirSync(folder)).toEqual([]);
});

test("the lock of another machine is taken when it is not touched any more", async () => {
  writeFileSync(file, JSON.stringify({ ...describeAuthor(), place: "elsewhere" }));
  expect(await takeLock(file, { timeoutMs: 200, deadMs: 500 })).toBeNull();
  const release = await takeLock(file, { timeoutMs: 5000, deadMs: 300 });
  expect(release).not.toBeNull();
  release?.();
});

test("a lock is touched while it is held, and so not taken", async () => {
  const release = await takeLock(file, { timeoutMs: 0, deadMs: 600 });
  expect(await takeLock(file, { timeoutMs: 1500, deadMs: 600 })).toBeNull();
  release?.();
});

test("who lost the lock to another process does not release that one's", async () => {
  const release = await takeLock(file, { timeoutMs: 0 });
  writeFileSync(file, "another");
  release?.();
  expect(existsSync(file)).toBe(true);
});
