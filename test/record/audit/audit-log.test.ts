import { createHmac } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createBacklog } from "../../../src/record/audit/backlog.ts";
import { type AuditFile, openAuditFile } from "../../../src/record/audit/file.ts";
import { encodeEvent } from "../../../src/record/audit/line.ts";
import type { AuditOptions } from "../../../src/record/audit/audit-log.ts";
import type { AuditEvent } from "../../../src/record/event.ts";
import { clearDesks, createDesk, event, smallDisk } from "../../support/audit.ts";

afterAll(clearDesks);

/** Circumstances that are all this text. */
function circumstances(text: string) {
  const names = { identity: text, server: text, mcpSession: text, policy: text, reason: text };
  return { ...names, client: { name: text, version: text }, metadata: { note: text } };
}

/** What the log makes of one event. */
function written(changes: Partial<AuditEvent>): { line: string; record: Record<string, unknown> } {
  const desk = createDesk();
  const log = desk.open();
  log.write(event(changes));
  log.close();
  return { line: desk.lines()[1], record: desk.records()[1] };
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

describe("records", () => {
  test("a chain opens, has its events, and closes", () => {
    const { open, records, warnings } = createDesk();
    const log = open({ now: () => Date.UTC(2026, 0, 1), random: (bytes) => Buffer.alloc(bytes, 1) });
    log.write(event({ latency: 1.23456, sent: 12, rule: "tools" }));
    log.close();
    expect(records()).toEqual([
      {
        log: "AQEBAQEBAQEBAQEB",
        seq: 0,
        type: "open",
        time: "2026-01-01T00:00:00.000Z",
        version: 2,
        key: "5d6ff6404fb0609a",
        seals: [],
        mac: expect.stringMatching(/^[\w-]{24}$/),
      },
      {
        log: "AQEBAQEBAQEBAQEB",
        seq: 1,
        type: "event",
        time: "2026-07-28T12:00:00.000Z",
        session: "s1",
        direction: "up",
        kind: "request",
        method: "tools/call",
        tool: "echo",
        id: 7,
        bytes: 100,
        class: "review",
        verdict: "pass",
        rule: "tools",
        note: null,
        latency: 1.235,
        sent: 12,
        mac: expect.stringMatching(/^[\w-]{24}$/),
      },
      {
        log: "AQEBAQEBAQEBAQEB",
        seq: 2,
        type: "close",
        time: "2026-01-01T00:00:00.000Z",
        events: 1,
        lost: 0,
        mac: expect.stringMatching(/^[\w-]{24}$/),
      },
    ]);
    expect(warnings).toEqual([]);
  });

  test("a mac can be computed by anyone who has the key and docs/audit.md", () => {
    const { chain, lines, keyFile } = createDesk();
    chain(2);
    const key = hmac(readFileSync(keyFile), "fairlead audit 1 records");
    let previous = "";
    for (const line of lines()) {
      const [body, mac] = line.slice(0, -2).split(',"mac":"');
      expect(mac).toBe(
        hmac(key, previous + body)
          .toString("base64url")
          .slice(0, 24),
      );
      previous = mac;
    }
  });

  test.each([
    [null, null],
    ["7", 7],
    ["-9007199254740991", -9007199254740991],
    ['"7"', "7"],
    ['"a\\u0041\\n"', "aA\n"],
    // As latin1, the way ids come: each byte a character.
    [Buffer.from('"é€"').toString("latin1"), "é€"],
  ])("the id %j is the value %j", (id, value) => {
    expect(written({ id }).record["id"]).toBe(value);
  });

  test("what could end a line, drive a terminal or reorder text is escaped, and nothing is lost", () => {
    const tool =
      'a"\\\n\r\u001b[2J\u007f\u0085\u009b\u00ad\u061c\u200b\u202e\u2028\u2029\u2066\ufeff\u{e0041}\u{1d173}\ud800é世😀';
    const { line, record } = written({ tool });
    expect(record["tool"]).toBe(tool);
    expect(line).toContain(
      '"tool":"a\\"\\\\\\n\\r\\u001b[2J\\u007f\\u0085\\u009b\\u00ad\\u061c\\u200b\\u202e\\u2028\\u2029\\u2066\\ufeff' +
        '\\udb40\\udc41\\ud834\\udd73\\ud800é世😀"',
    );
  });

  test("any text comes back as it went in, on one line that shows all there is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 30 }), (text) => {
        const line = `{${encodeEvent(event({ tool: text, method: text, rule: text, ...circumstances(text) }))}}`;
        const { mcpSession, ...same } = circumstances(text);
        expect(JSON.parse(line)).toMatchObject({
          tool: text,
          method: text,
          rule: text,
          mcp_session: mcpSession,
          ...same,
        });
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      }),
    );
  });

  const CIRCUMSTANCES = {
    identity: "alice",
    client: { name: 'c"', version: "1" },
    server: "http://server/mcp",
    mcpSession: "m-1",
    policy: "0123456789ab",
    reason: "no",
    metadata: { log: "x", deep: [{ log: "y" }] },
  };

  test("a record says who, by what and why, where that is known", () => {
    const { mcpSession, ...same } = CIRCUMSTANCES;
    expect(written(CIRCUMSTANCES).record).toMatchObject({ ...same, mcp_session: mcpSession });
    const bare = written({ client: { name: "c", version: null } }).record;
    expect(bare).toMatchObject({ client: { name: "c", version: null } });
    for (const name of ["identity", "server", "mcp_session", "policy", "reason", "metadata", "status", "times"]) {
      expect(bare).not.toHaveProperty(name);
    }
  });

  test("and of that only what is wanted", () => {
    const desk = createDesk();
    const log = desk.open({ fields: new Set(["identity", "policy"]) });
    log.write(event({ ...CIRCUMSTANCES, kind: "login", status: 401, address: "::1", times: 3 }));
    log.close();
    const [, record] = desk.records();
    expect(record).toMatchObject({ identity: "alice", policy: "0123456789ab", status: 401, address: "::1", times: 3 });
    for (const name of ["client", "server", "mcp_session", "reason", "metadata"]) {
      expect(record).not.toHaveProperty(name);
    }
  });

  test("metadata that looks like a record is not taken for one", () => {
    const desk = createDesk();
    const log = desk.open();
    const like = { log: "AQEBAQEBAQEBAQEB", seq: 1, type: "event", text: '{"log":"' };
    log.write(event({ metadata: like, client: { name: '{"log":"', version: '{"log":"' } }));
    log.close();
    expect(desk.verify()).toMatchObject({ findings: [], records: 3, chains: 1 });
    expect(desk.records()[1]["metadata"]).toEqual(like);
  });

  test("of a name that was cut the record says how long it was", () => {
    expect(written({ tool: "x", cut: 10_000 }).record).toMatchObject({ tool: "x", cut: 10_000 });
    expect(written({ tool: "x" }).record).not.toHaveProperty("cut");
  });
});

describe("the file", () => {
  test("only its owner may read it, and the key", () => {
    const { chain, file, keyFile, folder } = createDesk();
    chain(1);
    expect([file, keyFile, join(folder, "state")].map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual([
      "600",
      "600",
      "700",
    ]);
  });

  test("one that others may read stays as it is, with a warning", () => {
    const { file, chain, warnings } = createDesk();
    writeFileSync(file, "");
    chmodSync(file, 0o644);
    chain(1);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(warnings).toEqual([`others may read the audit log ${file} (mode 644): chmod 600 it if they should not`]);
  });

  test("one that cannot be written is refused at the start", () => {
    const { folder, open } = createDesk();
    mkdirSync(join(folder, "directory"));
    expect(() => open({ file: join(folder, "directory") })).toThrow(
      expect.objectContaining({ code: "FILE_NOT_WRITABLE", remedy: "EISDIR: check the path and its permissions" }),
    );
  });

  test.skipIf(process.platform === "win32")("a link is followed, but not where everybody may put one", () => {
    const { folder, open, file } = createDesk();
    const shared = join(folder, "shared");
    mkdirSync(shared);
    const link = join(shared, "link.jsonl");
    symlinkSync(file, link);
    open({ file: link }).close();
    chmodSync(shared, 0o1777);
    expect(() => open({ file: link })).toThrow(
      expect.objectContaining({
        code: "FILE_NOT_WRITABLE",
        remedy: "it is a link, in a directory that everybody may write to: check the path and its permissions",
      }),
    );
    open({ file: join(shared, "plain.jsonl") }).close();
  });

  test("events are written a moment later, without being asked for", async () => {
    const { open, lines } = createDesk();
    const log = open();
    log.write(event());
    expect(lines()).toEqual([]);
    await expect.poll(() => lines().length).toBe(2);
    log.write(event());
    await expect.poll(() => lines().length).toBe(3);
    log.close();
  });

  test("nothing is written after the end", async () => {
    const { open, lines } = createDesk();
    const log = open();
    log.close();
    log.write(event());
    await log.flush();
    log.close();
    expect(lines().length).toBe(2);
  });

  test("closing while a write is under way loses nothing and repeats nothing", async () => {
    const { open, records, verify } = createDesk();
    const log = open();
    for (let id = 0; id < 3000; id++) log.write(event({ id: String(id) }));
    void log.flush();
    log.write(event({ id: "3000" }));
    log.close();
    const ids = records().flatMap((record) => (record["type"] === "event" ? [record["id"]] : []));
    expect(ids).toEqual(Array.from({ length: 3001 }, (_, id) => id));
    expect(verify()).toMatchObject({ findings: [], notes: [] });
  });
});

/** A disk on which a write never comes to an end, nor fails. */
const stuck: NonNullable<AuditOptions["openFile"]> = (file, warn) =>
  Object.assign(Object.create(openAuditFile(file, warn)) as AuditFile, { append() {} });

describe("the backlog", () => {
  test("a flood is written as it comes: nothing is lost while the disk takes it", async () => {
    const { open, records, warnings, verify } = createDesk();
    const log = open({ limits: { maxBacklogEvents: 700 } });
    let id = 0;
    const flood = (count: number): void => {
      for (let index = 0; index < count; index++) log.write(event({ id: String(id++) }));
    };
    flood(5000);
    const flushed = log.flush();
    flood(5000); // while a write is under way
    await flushed;
    flood(2000);
    log.close();
    const ids = records().flatMap((record) => (record["type"] === "event" ? [record["id"]] : []));
    expect(ids).toEqual(Array.from({ length: id }, (_, index) => index));
    expect(warnings).toEqual([]);
    expect(verify()).toMatchObject({ findings: [], notes: [], lost: 0 });
  });

  test("what a disk that fails does not take is lost, and the log says how many, when and where", async () => {
    const { open, records, warnings } = createDesk();
    const disk = { room: 0 };
    const log = open({ openFile: smallDisk(disk), limits: { maxBacklogEvents: 2 } });
    for (let second = 0; second < 5; second++) log.write(event({ time: second * 1000, id: String(second) }));
    disk.room = Infinity;
    await log.flush();
    log.write(event({ id: "5" }));
    log.close();
    expect(records().map(({ type, id, lost }) => ({ type, id, lost }))).toEqual([
      { type: "open" },
      { type: "event", id: 0 },
      { type: "event", id: 1 },
      { type: "gap", lost: 3 },
      { type: "event", id: 5 },
      { type: "close", lost: 3 },
    ]);
    expect(records()[3]).toMatchObject({
      from: "1970-01-01T00:00:02.000Z",
      to: "1970-01-01T00:00:04.000Z",
      reason: "ENOSPC",
    });
    expect(warnings).toEqual([
      "the audit log cannot be written (ENOSPC): 2 events are waiting, further events will be lost",
      "the audit log can be written again",
    ]);
  });

  test("a write that does not come to an end holds a flood up only once", async () => {
    const { open, warnings } = createDesk();
    const log = open({ openFile: stuck, limits: { maxBacklogEvents: 2 } });
    void log.flush();
    const since = performance.now();
    for (let id = 0; id < 1000; id++) log.write(event());
    expect(performance.now() - since).toBeLessThan(2000);
    expect(warnings).toEqual(["the audit log cannot keep up: events are being lost, and the log counts them"]);
    log.close();
  });

  test("what is lost while a gap is being written makes another gap", () => {
    const backlog = createBacklog({ maxBacklogEvents: 1, maxBacklogBytes: Infinity });
    for (let index = 0; index < 3; index++) backlog.add(event(), "backlog");
    expect(backlog.take(10)).toMatchObject([{ kind: "request" }, { lost: 2 }]);
    backlog.add(event(), "backlog");
    backlog.remove(2);
    expect(backlog.written).toEqual({ events: 1, lost: 2 });
    expect(backlog.take(10)).toMatchObject([{ lost: 1 }]);
  });

  test("large texts count by their size", async () => {
    const { open, records } = createDesk();
    const disk = { room: 0 };
    const log = open({ openFile: smallDisk(disk), limits: { maxBacklogBytes: 100_000 } });
    for (let index = 0; index < 5; index++) log.write(event({ tool: "x".repeat(20_000) }));
    disk.room = Infinity;
    log.close();
    expect(records().map(({ type, lost }) => [type, lost])).toEqual([
      ["open", undefined],
      ["event", undefined],
      ["event", undefined],
      ["gap", 3],
      ["close", 3],
    ]);
  });
});

describe("heads", () => {
  test("the next writer vouches for those that ended, and clears their heads away", () => {
    const { chain, records, folder } = createDesk();
    for (let index = 0; index < 5; index++) chain(2);
    const openings = records().filter(({ type }) => type === "open");
    const closings = records().filter(({ type }) => type === "close");
    expect(openings.map(({ seals }) => seals)).toEqual([
      [],
      ...closings.slice(0, -1).map(({ log, seq, mac }) => [[log, seq, mac]]),
    ]);
    const [heads] = readdirSync(join(folder, "state", "audit"));
    expect(readdirSync(join(folder, "state", "audit", heads))).toEqual([openings[4]["log"]]);
  });

  test("a writer that is at work is not vouched for", async () => {
    const { open, records } = createDesk();
    const first = open();
    const second = open();
    await Promise.all([first.flush(), second.flush()]);
    expect(records().map(({ seals }) => seals)).toEqual([[], []]);
    first.close();
    second.close();
  });

  test("where they cannot be kept, the log is written all the same", () => {
    const { folder, chain, warnings, verify } = createDesk();
    mkdirSync(join(folder, "state"));
    writeFileSync(join(folder, "state", "audit"), "a file where the folder should be");
    chain(1);
    expect(warnings).toEqual([
      expect.stringMatching(/^records that are cut from the end of the audit log will not be noticed: E/),
    ]);
    expect(verify()).toMatchObject({
      findings: [],
      notes: ["this machine does not know where this log ended: whole chains may have been removed from its end"],
    });
    expect(readFileSync(join(folder, "state", "audit"), "utf8")).toMatch(/^a file/);
  });
});
