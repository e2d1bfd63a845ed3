import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect } from "vitest";
import { openAudit } from "../../src/record/audit/audit-log.ts";
import { event, smallDisk } from "../support/audit.ts";
import { COMMAND, type Program, type StartFairlead, test, until } from "../support/processes.ts";

const root = mkdtempSync(join(tmpdir(), "fairlead-e2e-audit-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folder: string;
let file: string;
let env: Record<string, string>;
beforeEach(() => {
  folder = mkdtempSync(join(root, "log-"));
  file = join(folder, "audit.jsonl");
  env = { XDG_STATE_HOME: join(folder, "state"), LOCALAPPDATA: join(folder, "state"), FAIRLEAD_AUDIT_KEY: "" };
});

const SERVER = [process.execPath, COMMAND, "demo-server"];
const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n' +
  '{"jsonrpc":"2.0","method":"notifications/initialized"}\n';
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';

function call(id: number | string, tool: string): object {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name: tool } };
}

/** Starts a proxy with an audit log, and says hello. */
async function begin(start: StartFairlead, ...options: string[]): Promise<Program> {
  const program = start(SERVER, { options: ["--deny", "^delete_", "--audit", file, ...options], env });
  program.say(HELLO, LIST);
  await program.hears('"id":1');
  return program;
}

async function end(program: Program): Promise<{ code: number | null; stderr: string }> {
  program.stdin.end();
  return program.end();
}

function fairlead(...words: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...words], {
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

function records(): Record<string, unknown>[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("--audit", () => {
  test("writes what was judged, and closes", async ({ start }) => {
    const program = await begin(start);
    program.say(call(2, "list_notes"), call("três", "delete_everything"));
    await program.hears('"tr');
    expect(await end(program)).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(
      records().map(({ type, method, tool, id, verdict, rule }) => ({ type, method, tool, id, verdict, rule })),
    ).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "open" }),
        { type: "event", method: "tools/call", tool: "list_notes", id: 2, verdict: "pass", rule: null },
        { type: "event", method: "tools/call", tool: "delete_everything", id: "três", verdict: "deny", rule: "tools" },
        expect.objectContaining({ type: "close" }),
      ]),
    );
    expect(records().at(-1)).toMatchObject({ type: "close", events: records().length - 2, lost: 0 });
    expect(fairlead("audit", "verify", file)).toEqual({
      status: 0,
      stdout: `${file}: as it was written (${records().length} records, 1 chain, 0 gaps, 0 events lost)\n`,
      stderr: "",
    });
  });

  test("says who and by which policy, as much of it as the policy file wants", async ({ startProgram }) => {
    const config = join(folder, "fairlead.yaml");
    const include = "{ fields: [client, policy, reason], classes: [review] }";
    writeFileSync(
      config,
      `upstream: { command: ${JSON.stringify(SERVER)} }
audit: { file: audit.jsonl, include: ${include} }
tools: { deny: ["^delete_"] }
interceptor: { rules: [{ id: m, conditions: [{ method_equals: x }], actions: [{ run_script: { path: ./x } }] }] }
`,
    );
    const program = startProgram([process.execPath, COMMAND, "--config", config, "--log-level=error"], { env });
    program.say(HELLO, LIST, call(2, "list_notes"), call(3, "delete_everything"));
    await program.hears('"id":3');
    await end(program);
    const events = records().filter(({ type }) => type === "event");
    const { policy } = JSON.parse(fairlead("check", "--format", "json", config).stdout) as { policy: string };
    const who = { client: { name: "t", version: "1" }, policy };
    expect(events.filter(({ direction }) => direction === "up")).toMatchObject([
      { method: "tools/call", id: 2, ...who },
      { method: "tools/call", id: 3, ...who, reason: "Tool not found: delete_everything" },
    ]);
    expect(events.some((event) => "server" in event || "metadata" in event)).toBe(false);
    expect(fairlead("audit", "verify", file)).toMatchObject({ status: 0 });
  });

  test("a signal does not keep it from closing", async ({ start }) => {
    const program = await begin(start);
    program.say(call(2, "delete_note"));
    await program.hears('"id":2');
    process.kill(program.pid, "SIGTERM");
    await program.end();
    expect(records().at(-1)).toMatchObject({ type: "close" });
    expect(records().some(({ tool }) => tool === "delete_note")).toBe(true);
    expect(fairlead("audit", "verify", file).status).toBe(0);
  });

  test("nor does a server that is lost", async ({ start }) => {
    const program = start(["sh", "-c", "read line; exit 3"], { options: ["--audit", file], env });
    program.say(LIST);
    expect(await program.end()).toMatchObject({ code: 3 });
    expect(records().at(-1)).toMatchObject({ type: "close" });
    expect(fairlead("audit", "verify", file).status).toBe(0);
  });

  test("a kill leaves no more than a note, and the next run vouches for what was written", async ({ start }) => {
    const program = await begin(start, "--audit-level", "all");
    await until(() => existsSync(file) && readFileSync(file, "utf8").includes('"id":1'), "the first records");
    expect(fairlead("audit", "verify", file).stdout).toMatch(/\nnote: chain \S+ is still being written\n$/);
    process.kill(program.pid, "SIGKILL");
    await program.end();
    expect(fairlead("audit", "verify", file)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /\nnote: chain \S+ ended without a closing record: its writer crashed or was killed\n$/,
      ),
    });
    const killed = records().length;
    await end(await begin(start));
    expect(records()[killed]).toMatchObject({
      type: "open",
      seals: [[records()[0]["log"], killed - 1, expect.any(String)]],
    });
    expect(fairlead("audit", "verify", file).status).toBe(0);
  });

  test("a flood of junk does not keep a call out of it", async ({ start }) => {
    const program = await begin(start);
    program.say("x\n".repeat(28_000), call(2, "list_notes"));
    await program.hears('"id":2');
    expect(await end(program)).toMatchObject({ code: 0 });
    expect(records().filter(({ rule }) => rule === "strict:not-json")).toHaveLength(28_000);
    expect(records().find(({ id }) => id === 2)).toMatchObject({ tool: "list_notes", verdict: "pass" });
    expect(fairlead("audit", "verify", file)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/ 0 events lost/),
    });
  });

  test("two at once share a file", async ({ start }) => {
    const programs = await Promise.all([begin(start), begin(start)]);
    for (let id = 2; id < 50; id++) {
      for (const program of programs) {
        program.say(call(id, "delete_note"));
        await program.hears(`"id":${id},`);
      }
    }
    await Promise.all(programs.map(end));
    expect(records().filter(({ tool }) => tool === "delete_note").length).toBe(96);
    expect(fairlead("audit", "verify", file)).toMatchObject({ status: 0, stdout: expect.stringContaining("2 chains") });
  });

  test.skipIf(!existsSync("/dev/full"))("a full disk is told, and nothing stops", async ({ start }) => {
    file = "/dev/full";
    const program = await begin(start);
    program.say(call(2, "list_notes"));
    await program.hears('"id":2');
    await program.complains("the audit log cannot be written (ENOSPC)");
    program.say(call(3, "delete_note"));
    await program.hears('"id":3');
    expect(await end(program)).toMatchObject({ code: 0 });
  });

  test("a file that cannot be written ends the start", () => {
    const path = join(folder, "nowhere", "audit.jsonl");
    expect(fairlead("--audit", path, "--", ...SERVER)).toEqual({
      status: 1,
      stdout: "",
      stderr: `Error: Cannot write to ${path}\nENOENT: check the path and its permissions\n`,
    });
  });
});

describe("audit verify", () => {
  test("names what was done to a log, with the line", async ({ start }) => {
    const program = await begin(start);
    program.say(call(2, "delete_note"));
    await program.hears('"id":2');
    await end(program);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("delete_note", "list_notes_"));
    const line = records().findIndex(({ tool }) => tool === "list_notes_") + 1;
    const { log } = records()[0];
    expect(fairlead("audit", "verify", file)).toEqual({
      status: 1,
      stdout:
        `${file}: 1 finding (${records().length} records, 1 chain, 0 gaps, 0 events lost)\n` +
        `line ${line}: record ${line - 1} of chain ${String(log)} was changed or inserted\n`,
      stderr: "",
    });
    writeFileSync(file, text.split("\n").slice(0, 2).join("\n") + "\n");
    expect(fairlead("audit", "verify", file)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/missing after it/),
    });
  });

  test("says loudly what was lost, and of several files what is in each", async ({ start }) => {
    await end(await begin(start));
    const key = join(folder, "state", "fairlead", "audit.key");
    const second = join(folder, "second.jsonl");
    const disk = { room: 0 };
    const full = { openFile: smallDisk(disk), limits: { maxBacklogEvents: 1 } };
    const log = openAudit({ file: second, keyFile: key, warn: () => {}, ...full });
    for (let time = 0; time < 4; time++) log.write({ ...event(), time });
    disk.room = Infinity;
    log.close();
    expect(fairlead("audit", "verify", second)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^\S+: as it was written \(4 records, 1 chain, 1 gap, 3 events lost\)\nLOST: 3 events could not be written, in 1 gap\nnote: /,
      ),
    });
    const count = records().length;
    const { status, stdout } = fairlead("audit", "verify", file, second);
    expect(status).toBe(0);
    expect(stdout.split("\n").slice(0, 4)).toEqual([
      `2 files: as they were written (${count + 4} records, 2 chains, 1 gap, 3 events lost)`,
      "LOST: 3 events could not be written, in 1 gap",
      `${file}: ${count} records`,
      `${second}: 4 records`,
    ]);
  });

  test("calls a file that is no audit log what it is", async ({ start }) => {
    await end(await begin(start));
    const notes = join(folder, "notes.txt");
    writeFileSync(notes, "buy milk\n");
    const remedy = "None of its lines is a record: give a file that was written with --audit";
    expect(fairlead("audit", "verify", notes)).toEqual({
      status: 2,
      stdout: "",
      stderr: `Error: This is not an audit log: ${notes}\n${remedy}\n`,
    });
  });

  test("takes another key, and a key that is not the log's is a finding", async ({ start }) => {
    await end(await begin(start));
    const key = join(folder, "copy.key");
    copyFileSync(join(folder, "state", "fairlead", "audit.key"), key);
    expect(fairlead("audit", "verify", "--key", key, file)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/\nnote: this machine does not know where this log ended/),
    });
    writeFileSync(key, Buffer.alloc(32));
    expect(fairlead("audit", "verify", `--key=${key}`, file)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/\nline 1: chain \S+ was written with another key/),
    });
  });

  test("what cannot be told ends with 2, and says what to do", () => {
    const key = join(folder, "state", "fairlead", "audit.key");
    expect(fairlead("audit", "verify", file)).toEqual({
      status: 2,
      stdout: "",
      stderr: `Error: No key to verify with\n${key}: ENOENT. Give the key the log was written with: --key <file>\n`,
    });
    const zeros = join(folder, "zeros.key");
    writeFileSync(zeros, Buffer.alloc(32), { mode: 0o600 });
    expect(fairlead("audit", "verify", "--key", zeros, file)).toEqual({
      status: 2,
      stdout: "",
      stderr: `Error: Cannot read ${file}\nENOENT: check the path and its permissions\n`,
    });
    expect(existsSync(key)).toBe(false);
  });

  test.for([
    [[], "Nothing to do with an audit log", "Write fairlead audit verify <file>"],
    [["verify"], "No audit log to verify", "Write fairlead audit verify <file>"],
    [["verfy", "x"], "Unknown word: verfy", "Did you mean fairlead audit verify?"],
  ] as const)("%j is not enough", ([words, what, remedy]) => {
    expect(fairlead("audit", ...words)).toEqual({ status: 2, stdout: "", stderr: `Error: ${what}\n${remedy}\n` });
  });
});
