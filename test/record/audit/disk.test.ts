import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { verifyAudit } from "../../../src/record/audit/verify.ts";
import { clearDesks, createDesk, event, runProgram, smallDisk } from "../../support/audit.ts";
import { runs } from "../../support/runs.ts";

afterAll(clearDesks);

function shell(command: string): boolean {
  return spawnSync("sh", ["-c", command]).status === 0;
}

/** All whole records, also those that follow a torn line without a newline between. */
function wholeRecords(text: string): Record<string, unknown>[] {
  return text.split('{"log":"').flatMap((piece) => {
    const match = /^[^\n]*,"mac":"[\w-]{24}"\}/.exec(piece);
    return match === null ? [] : [JSON.parse(`{"log":"${match[0]}`) as Record<string, unknown>];
  });
}

/** Ids of the events in a log, and -n where n were lost. */
function contents(file: string): number[] {
  return wholeRecords(readFileSync(file, "utf8")).flatMap(({ type, id, lost }) =>
    type === "event" ? [Number(id)] : type === "gap" && lost !== 0 ? [-Number(lost)] : [],
  );
}

const ofTorn: unknown = expect.stringMatching(/^line \d+: \d+ bytes of an unfinished line\. A later record/);

describe("a full disk", () => {
  test("does not hold anyone up, is told once a minute, and what did not fit is counted when there is room", async () => {
    const desk = createDesk();
    const disk = { room: 0 };
    let time = Date.UTC(2026, 0, 1);
    const log = desk.open({ openFile: smallDisk(disk), now: () => time, limits: { maxBacklogEvents: 3 } });
    for (let id = 1; id <= 10; id++) {
      log.write(event({ id: String(id), time }));
      await log.flush();
      time += 1000;
    }
    expect(desk.warnings).toEqual([
      "the audit log cannot be written (ENOSPC): 1 events are waiting, further events will be lost",
    ]);
    time += 60_000;
    log.write(event({ id: "11", time }));
    expect(desk.warnings.slice(1)).toEqual([
      "the audit log cannot keep up (ENOSPC): events are being lost, and the log counts them",
    ]);
    disk.room = Infinity;
    await log.flush();
    expect(desk.warnings.slice(2)).toEqual(["the audit log can be written again"]);
    log.write(event({ id: "12" }));
    log.close();
    expect(contents(desk.file)).toEqual([1, 2, 3, -8, 12]);
    expect(desk.records()[4]).toMatchObject({
      type: "gap",
      lost: 8,
      from: "2026-01-01T00:00:03.000Z",
      to: "2026-01-01T00:01:10.000Z",
      reason: "ENOSPC",
    });
    expect(desk.verify()).toMatchObject({ findings: [], gaps: 1, lost: 8 });
  });

  test("whoever must not pass without the log is told at once, and the log says so later", async () => {
    const desk = createDesk();
    const disk = { room: Infinity };
    const log = desk.open({ openFile: smallDisk(disk) });
    expect(log.writeNow(event({ id: "1" }))).toBe(true);
    expect(contents(desk.file)).toEqual([1]);
    disk.room = 100;
    expect(log.writeNow(event({ id: "2" }))).toBe(false);
    disk.room = 0;
    expect(log.writeNow(event({ id: "3" }))).toBe(false);
    disk.room = Infinity;
    expect(log.writeNow(event({ id: "4" }))).toBe(true);
    await log.flush();
    log.close();
    const events = wholeRecords(readFileSync(desk.file, "utf8")).filter(({ type }) => type === "event");
    expect(events.map(({ id, verdict, rule }) => [id, verdict, rule])).toEqual([
      [1, "pass", null],
      [2, "pass", null], // it was under way when the disk turned out to be full
      [2, "deny", "audit"],
      [3, "deny", "audit"],
      [4, "pass", null],
    ]);
    expect(log.writeNow(event({ id: "5" }))).toBe(false);
    expect(desk.verify()).toMatchObject({ findings: [], lost: 0 });
  });

  test("what is written at once is known to be there, so that a cut shows", async () => {
    const desk = createDesk();
    const log = desk.open();
    for (let id = 1; id <= 3; id++) log.writeNow(event({ id: String(id) }));
    await log.flush();
    desk.replace(desk.lines().slice(0, 2));
    expect(desk.verify().findings).toHaveLength(1);
    log.close();
  });

  test("a write that stops short leaves a torn line that the next record accounts for", async () => {
    const desk = createDesk();
    const disk = { room: 1000 };
    const log = desk.open({ openFile: smallDisk(disk) });
    for (let id = 1; id <= 5; id++) log.write(event({ id: String(id) }));
    await log.flush();
    const torn = desk.lines().length;
    disk.room = Infinity;
    await log.flush();
    log.close();
    const gap = JSON.parse(desk.lines()[torn + 1]) as Record<string, unknown>;
    expect(gap).toMatchObject({ type: "gap", lost: 0, torn: [desk.lines()[torn].length] });
    expect(() => JSON.parse(desk.lines()[torn]) as unknown).toThrow(SyntaxError);
    expect(contents(desk.file)).toEqual([1, 2, 3, 4, 5]);
    expect(desk.verify()).toMatchObject({ findings: [], notes: [ofTorn], gaps: 0 });
  });

  test("a torn line that no record accounts for is a finding", async () => {
    const desk = createDesk();
    desk.chain(1);
    desk.replace([desk.lines()[0], '{"log":"x', ...desk.lines().slice(1)]);
    expect(desk.verify().findings).toEqual([
      { where: "line 2", text: "9 bytes that are not a line of the log, and that no record mentions" },
    ]);
  });

  test("an end on a full disk is told, and is no tampering", async () => {
    const desk = createDesk();
    const disk = { room: 1000 };
    const log = desk.open({ openFile: smallDisk(disk) });
    for (let id = 1; id <= 5; id++) log.write(event({ id: String(id) }));
    log.close();
    expect(desk.warnings.at(-1)).toBe("the audit log was not closed (ENOSPC): 3 events are not in it");
    expect(desk.verify()).toMatchObject({ findings: [], records: 3 });
    desk.chain(1);
    expect(desk.verify()).toMatchObject({
      findings: [],
      records: 6,
      notes: [
        ofTorn,
        expect.stringMatching(/^chain .* ended without a closing record: its writer crashed or was killed$/),
      ],
    });
  });

  // Every way in which room may come and go, with two writers at one file: one of them has its lines torn
  // and the other writes on where they end.
  test("whatever gets torn, every event is there or counted, in order, and the log verifies", async () => {
    const steps = fc.array(
      fc.record({ who: fc.nat(1), events: fc.nat(4), room: fc.oneof(fc.nat(900), fc.constant(Infinity)) }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const desk = createDesk();
        const disks = [{ room: 0 }, { room: 0 }];
        const logs = disks.map((disk) => desk.open({ openFile: smallDisk(disk), limits: { maxBacklogEvents: 6 } }));
        let sent = 0;
        for (const { who, events, room } of steps) {
          for (let index = 0; index < events; index++) logs[who].write(event({ id: String(++sent) }));
          disks[who].room = room;
          await logs[who].flush();
          // What was torn is what is looked at here: room that stays is not.
          disks[who].room = 0;
        }
        disks[0].room = Infinity;
        disks[1].room = Infinity;
        for (const log of logs) log.close();
        const report = desk.verify();
        expect(report.findings).toEqual([]);
        expect(report.notes.filter((note) => !/were lost between|of an unfinished line/.test(note))).toEqual([]);
        const records = wholeRecords(readFileSync(desk.file, "utf8"));
        for (const { log, events, lost } of records.filter(({ type }) => type === "close")) {
          const own = records.filter((record) => record["log"] === log);
          const ids = own.filter(({ type }) => type === "event").map(({ id }) => Number(id));
          expect(ids).toEqual(ids.toSorted((one, other) => one - other));
          expect(new Set(ids).size).toBe(events);
          expect(own.reduce((sum, { type, lost }) => sum + (type === "gap" ? Number(lost) : 0), 0)).toBe(lost);
          sent -= Number(events) + Number(lost);
        }
        expect(sent).toBe(0);
      }),
      { numRuns: runs(100) },
    );
  }, 60_000);

  test("a line that was torn just before its newline is read as the record it is", async () => {
    const whole = createDesk();
    whole.chain(2);
    const upTo = whole.lines().slice(0, 2).join("\n").length;
    const desk = createDesk();
    const disk = { room: upTo };
    const log = desk.open({ openFile: smallDisk(disk) });
    log.write(event({ id: "0" }));
    log.write(event({ id: "1" }));
    await log.flush();
    disk.room = Infinity;
    log.close();
    expect(contents(desk.file)).toEqual([0, 1]);
    expect(desk.verify()).toMatchObject({ findings: [], notes: [] });
  });
});

describe.skipIf(!existsSync("/dev/full"))("/dev/full", () => {
  test("takes nothing, and nobody is held up", async () => {
    const desk = createDesk();
    const log = desk.open({ file: "/dev/full" });
    for (let id = 0; id < 100; id++) log.write(event());
    await log.flush();
    log.close();
    expect(desk.warnings).toEqual([
      "the audit log cannot be written (ENOSPC): 100 events are waiting, further events will be lost",
      "the audit log was not closed (ENOSPC): 100 events are not in it",
    ]);
  });
});

test("a disk of 64 KB fills up, is emptied, and the log goes on", async ({ skip }) => {
  const desk = createDesk();
  const disk = join(desk.folder, "disk");
  mkdirSync(disk);
  skip(!shell(`mount -t tmpfs -o size=64k none "${disk}"`), "no right to mount");
  try {
    const file = join(disk, "audit.jsonl");
    const other = join(disk, "other");
    writeFileSync(other, Buffer.alloc(40_000));
    const log = desk.open({ file, limits: { maxBacklogEvents: 100 } });
    for (let id = 1; id <= 250; id++) {
      log.write(event({ id: String(id) }));
      if (id % 10 === 0) await log.flush();
    }
    expect(desk.warnings[0]).toMatch(/^the audit log cannot be written \(ENOSPC\)/);
    unlinkSync(other);
    await log.flush();
    log.close();
    expect(contents(file).reduce((sum, id) => sum + (id < 0 ? -id : 1), 0)).toBe(250);
    expect(verifyAudit({ files: [file], keyFile: desk.keyFile })).toMatchObject({ findings: [], gaps: 1 });
  } finally {
    shell(`umount "${disk}"`);
  }
});

test.skipIf(process.platform === "win32")(
  "a pipe that nobody reads does not keep a process from ending",
  async () => {
    const desk = createDesk();
    const file = join(desk.folder, "pipe");
    expect(shell(`mkfifo "${file}"`)).toBe(true);
    const { ended } = runProgram(
      `
    const log = openAudit({ file: given.file, keyFile: given.keyFile, warn: console.log });
    for (let id = 1; id <= 1000; id++) log.write(event({ id: String(id) }));
    log.close();`,
      { ...desk, file },
    );
    expect(await ended).toMatch(/\nthe audit log was not closed \(\w+\): \d+ events are not in it\n$/);
  },
  60_000,
);

// A limit on the size of files makes real writes stop short, without a disk of one's own.
describe.skipIf(!shell("prlimit --version"))("a limit on the size of files", () => {
  test("real writes stop short, and when the limit is lifted the log goes on", async () => {
    const desk = createDesk();
    mkdirSync(join(desk.folder, "signs"));
    const sign = (name: string): string => join(desk.folder, "signs", name);
    const { pid, ended } = runProgram(
      `
      import { existsSync, writeFileSync } from "node:fs";
      const until = async (file) => { while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10)); };
      const log = openAudit({ file: given.file, keyFile: given.keyFile, warn: console.log });
      writeFileSync(given.ready, "");
      await until(given.limited);
      for (let id = 1; id <= 20; id++) log.write(event({ id: String(id) }));
      await log.flush();
      writeFileSync(given.tried, "");
      await until(given.lifted);
      log.close();`,
      { ...desk, ready: sign("ready"), limited: sign("limited"), tried: sign("tried"), lifted: sign("lifted") },
    );
    await expect.poll(() => existsSync(sign("ready")), { timeout: 30_000 }).toBe(true);
    shell(`prlimit --pid ${pid} --fsize=1900:unlimited`);
    writeFileSync(sign("limited"), "");
    await expect.poll(() => existsSync(sign("tried")), { timeout: 30_000 }).toBe(true);
    await delay(50);
    shell(`prlimit --pid ${pid} --fsize=unlimited`);
    writeFileSync(sign("lifted"), "");
    expect(await ended).toMatch(
      /^the audit log cannot be written \(ENOSPC\): 1\d events are waiting, further events will be lost\nthe audit log can be written again\n$/,
    );
    expect(desk.lines().some((line) => line.includes('"torn":['))).toBe(true);
    expect(contents(desk.file)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(desk.verify()).toMatchObject({ findings: [], notes: [ofTorn] });
  }, 60_000);
});
