import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { auditKeyFile, ensureAuditKey, readAuditKey } from "../../../src/record/audit/key.ts";
import { clearDesks, createDesk, runProgram } from "../../support/audit.ts";

afterAll(clearDesks);

const usual = join(homedir(), ".local", "state", "fairlead", "audit.key");

test.each<[NodeJS.ProcessEnv, NodeJS.Platform, string]>([
  [{}, "linux", usual],
  [{ XDG_STATE_HOME: "/state" }, "linux", "/state/fairlead/audit.key"],
  [{ XDG_STATE_HOME: "" }, "darwin", usual],
  [{ XDG_STATE_HOME: "relative/is/ignored" }, "linux", usual],
  [{ FAIRLEAD_AUDIT_KEY: "/keys/one", XDG_STATE_HOME: "/state" }, "linux", "/keys/one"],
  [{ LOCALAPPDATA: "/local", XDG_STATE_HOME: "/state" }, "win32", "/local/fairlead/audit.key"],
])("with %j on %s the key is %s", (env, platform, file) => {
  expect(auditKeyFile(env, platform)).toBe(file);
});

function place(): string {
  return join(createDesk().folder, "fairlead", "audit.key");
}

test("the first use makes a key, the second one reads it", () => {
  const file = place();
  const key = ensureAuditKey(file, () => {});
  expect(statSync(file)).toMatchObject({ size: 32, mode: 0o100600 });
  expect(ensureAuditKey(file, () => {}).id).toBe(key.id);
  expect(readAuditKey(file).id).toBe(key.id);
});

test("two keys have two ids, and the id tells nothing of the key", () => {
  const [one, other] = [place(), place()];
  expect(ensureAuditKey(one, () => {}).id).not.toBe(ensureAuditKey(other, () => {}).id);
  expect(readFileSync(one).toString("hex")).not.toContain(readAuditKey(one).id);
});

test("processes that start at once end up with one key", async () => {
  const file = place();
  const program = `
    import { ensureAuditKey } from ${JSON.stringify(join(import.meta.dirname, "../../../src/record/audit/key.ts"))};
    await meet(given.place, 3);
    console.log(ensureAuditKey(given.file, () => {}).id);`;
  const meeting = join(dirname(dirname(file)), "place");
  const ids = await Promise.all([1, 2, 3].map(() => runProgram(program, { file, place: meeting }).ended));
  expect(ids[0]).toMatch(/^[0-9a-f]{16}\n$/);
  expect(new Set(ids).size).toBe(1);
}, 60_000);

test("a key that others may read is used, with a warning", () => {
  const file = place();
  ensureAuditKey(file, () => {});
  chmodSync(file, 0o644);
  const warnings: string[] = [];
  ensureAuditKey(file, (text) => warnings.push(text));
  expect(warnings).toEqual([`others may read the audit key ${file}: chmod 600 it, and treat the key as compromised`]);
});

test("a key that is cut short is no key", () => {
  const file = place();
  mkdirSync(dirname(file));
  writeFileSync(file, "short", { mode: 0o600 });
  expect(() => ensureAuditKey(file, () => {})).toThrow(
    expect.objectContaining({
      code: "NO_AUDIT_KEY",
      message: `The audit key ${file} does not have 32 bytes`,
      // To remove it is no advice: who follows it can verify nothing any more.
      remedy: expect.not.stringContaining("remove") as string,
    }),
  );
});

test("reading does not make one", () => {
  const file = place();
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(() => readAuditKey(file)).toThrow(
      expect.objectContaining({
        code: "NO_AUDIT_KEY",
        message: "No key to verify with",
        remedy: `${file}: ENOENT. Give the key the log was written with: --key <file>`,
      }),
    );
  }
});

test("where none can be made, the error says what to do", () => {
  const file = join(place(), "audit.key");
  mkdirSync(dirname(dirname(dirname(file))), { recursive: true });
  writeFileSync(dirname(dirname(file)), "a file where a folder should be");
  expect(() => ensureAuditKey(file, () => {})).toThrow(
    expect.objectContaining({
      code: "NO_AUDIT_KEY",
      remedy: expect.stringMatching(/^E\w+: name a file that can be written in FAIRLEAD_AUDIT_KEY$/) as string,
    }),
  );
});
