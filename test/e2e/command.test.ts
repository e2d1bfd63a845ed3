import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { COMMAND, fixture, test } from "../support/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-command-"));
const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.concurrent("a reader that has seen enough is no failure", () => {
  const server = ["--", ...fixture("good.mjs")];
  test.for([["demo"], ["help"], ["version"], ["tools", ...server], ["tools", "--format=json", ...server]])(
    "%j",
    async (words, { startProgram }) => {
      // The pipe is closed before anything is written.
      const script = '{ sleep 0.5; "$@"; echo "exit $?" >&2; } | true';
      const program = startProgram(["sh", "-c", script, "sh", process.execPath, COMMAND, ...words], { env });
      expect(await program.end()).toMatchObject({ stderr: "exit 0\n", left: [] });
    },
  );

  test("and findings are findings all the same", async ({ startProgram }) => {
    const key = join(folder, "key");
    const log = join(folder, "broken.jsonl");
    writeFileSync(key, Buffer.alloc(32), { mode: 0o600 });
    writeFileSync(log, '{"log":"\n');
    const words = ["audit", "verify", "--key", key, log];
    const script = '{ sleep 0.5; "$@"; echo "exit $?" >&2; } | true';
    const program = startProgram(["sh", "-c", script, "sh", process.execPath, COMMAND, ...words], { env });
    expect(await program.end()).toMatchObject({ stderr: "exit 1\n", left: [] });
  });
});
