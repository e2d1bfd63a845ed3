import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startChild } from "../../src/link/child.ts";

const NOBODY = 65_534;
const start = (command: string, cwd?: string) => startChild({ command, args: [], env: {}, cwd, onTrouble: () => {} });

test("a name that would not be seen as one is shown in quotes", async () => {
  await expect(start("/no such\nserver")).rejects.toMatchObject({
    message: String.raw`Command not found: "/no such\u000aserver"`,
  });
  await expect(start("", tmpdir())).rejects.toMatchObject({ message: 'Command not found: ""' });
  await expect(start("node", "/no such directory")).rejects.toMatchObject({
    message: 'Not a directory: "/no such directory"',
  });
});

test.runIf(process.platform !== "win32")("a directory one may not enter is not blamed on the command", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-locked-"));
  const cwd = join(folder, "inner");
  mkdirSync(cwd, { mode: 0o000 });
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY); // root may enter anything
  try {
    await expect(start(process.execPath, isRoot ? join(cwd, "x") : cwd)).rejects.toMatchObject({
      code: "BAD_DIRECTORY",
      remedy: "Give --cwd a directory that you may enter, or have its permissions changed",
    });
  } finally {
    if (isRoot) process.seteuid?.(0);
    rmSync(folder, { recursive: true });
  }
});
