import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyAudit } from "../../../src/record/audit/verify.ts";
import { clearDesks, createDesk, type Desk, event, found, named } from "../../support/audit.ts";
import { runs } from "../../support/runs.ts";

afterAll(clearDesks);

/** A real log: chain A, then B and C at the same time, then D. Each opens, has two or three events, and closes. */
async function writeLog(): Promise<{ desk: Desk; lines: string[]; logs: string[] }> {
  const desk = createDesk();
  desk.chain(3); // lines 1 to 5
  const [b, c] = [desk.open(), desk.open()]; // lines 6 to 13, in turns
  await b.flush();
  await c.flush();
  for (const log of [b, c, b, c]) {
    log.write(event());
    await log.flush();
  }
  b.close();
  c.close();
  desk.chain(2); // lines 14 to 17
  const logs = [...new Set(desk.records().map(({ log }) => String(log)))];
  return { desk, lines: desk.lines(), logs };
}

let desk: Desk;
let lines: string[];
let logs: string[];
beforeAll(async () => {
  ({ desk, lines, logs } = await writeLog());
});

function findings(changed: readonly string[]): string[] {
  desk.replace(changed);
  return found(desk.verify(), logs);
}

const swap = (list: readonly string[], one: number, other: number): string[] =>
  list.map((line, index) => list[index === one ? other : index === other ? one : index]);
const without = (list: readonly string[], from: number, count = 1): string[] => list.toSpliced(from, count);

const byChain = (list: readonly string[]): string[][] =>
  logs.map((log) => list.filter((line) => line.startsWith(`{"log":"${log}`)));

function notes(report: { notes: readonly string[] }, names: readonly string[]): string[] {
  return report.notes.map((note) => named(note, names));
}

test("a log as it was written has no findings and no notes", () => {
  desk.replace(lines);
  expect(lines.map((line) => named(line.slice(8, 24), logs)).join("")).toBe("AAAAABCBCBCBCDDDD");
  expect(desk.verify()).toEqual({
    files: [{ file: desk.file, records: 17 }],
    records: 17,
    chains: 4,
    gaps: 0,
    lost: 0,
    findings: [],
    moreFindings: 0,
    notes: [],
    moreNotes: 0,
  });
});

describe("tampering", () => {
  const cases: [string, (list: string[]) => string[], string[]][] = [
    [
      "an edited line",
      (list) => list.with(2, list[2].replace('"echo"', '"rm"')),
      ["line 3: record 2 of chain A was changed or inserted"],
    ],
    [
      "an edited mac",
      (list) => list.with(2, `${list[2].slice(0, -3)}${list[2].at(-3) === "x" ? "y" : "x"}"}`),
      ["line 3: record 2 of chain A was changed or inserted"],
    ],
    [
      "an edited opening record",
      (list) => list.with(0, list[0].replace("seals", "seels")),
      ["line 1: record 0 of chain A was changed or inserted"],
    ],
    ["a removed line", (list) => without(list, 2), ["line 3: record 2 of chain A is missing before it"]],
    [
      "removed lines, one of each of two chains",
      (list) => without(list, 7, 2),
      ["line 8: record 1 of chain B is missing before it", "line 9: record 1 of chain C is missing before it"],
    ],
    ["the first line removed", (list) => without(list, 0), ["line 1: record 0 of chain A is missing before it"]],
    ["a line twice", (list) => list.toSpliced(3, 0, list[2]), ["line 4: record 2 of chain A is repeated"]],
    [
      "a whole chain again at the end",
      (list) => [...list, ...list.slice(0, 5)],
      [0, 1, 2, 3, 4].map((seq) => `line ${18 + seq}: record ${seq} of chain A is repeated`),
    ],
    [
      "a forged line put in",
      (list) => list.toSpliced(2, 0, list[2].replace('"echo"', '"rm"')),
      ["line 3: record 2 of chain A was changed or inserted", "line 4: record 2 of chain A is repeated"],
    ],
    [
      "a forged line with a mac of its own put in",
      (list) => list.toSpliced(2, 0, `${list[2].replace("echo", "rm").slice(0, -26)}${"x".repeat(24)}"}`),
      ["line 3: record 2 of chain A was changed or inserted", "line 4: record 2 of chain A is repeated"],
    ],
    [
      "two lines of a chain in the wrong order",
      (list) => swap(list, 1, 2),
      ["line 2: record 1 of chain A is missing before it", "line 3: record 1 of chain A is out of order"],
    ],
    [
      "the end of the last chain cut",
      (list) => list.slice(0, -2),
      ["line 15: records 2 to 3 of chain D are missing after it"],
    ],
    ["the whole last chain cut", (list) => list.slice(0, 13), ["chain D is missing: it had 4 records"]],
    [
      "the end of an earlier chain cut",
      (list) => without(list, 3, 2),
      [
        "line 4: records 3 to 4 of chain A are missing before it",
        "line 5: records 3 to 4 of chain A are missing before it",
      ],
    ],
    [
      "a whole earlier chain removed",
      (list) => without(list, 0, 5),
      [
        "line 1: records 0 to 4 of chain A are missing before it",
        "line 2: records 0 to 4 of chain A are missing before it",
      ],
    ],
    ["everything removed", () => [], ["chain D is missing: it had 4 records"]],
    [
      "a later chain before one it vouches for",
      (list) => swap(list, 4, 13),
      expect.arrayContaining([
        "line 5: records 0 to 3 of chain B are missing before it",
        "line 6: record 4 of chain A is missing before it",
      ]) as string[],
    ],
    [
      "a line that is no record",
      (list) => list.toSpliced(4, 0, "hello"),
      ["line 5: 5 bytes that are not a line of the log, and that no record mentions"],
    ],
    ["an empty line", (list) => list.toSpliced(4, 0, ""), ["line 5: an empty line"]],
    [
      "a very long line",
      (list) => list.toSpliced(4, 0, "x".repeat(3_000_000)),
      ["line 5: 3000000 bytes that are not a line of the log, and that no record mentions"],
    ],
    [
      "something before a record on its line",
      (list) => list.with(2, `x${list[2]}`),
      ["line 3: 1 bytes that are not a line of the log, and that no record mentions"],
    ],
    [
      "two records on one line",
      (list) => list.toSpliced(2, 2, list[2] + list[3]),
      [expect.stringMatching(/^line 3: \d+ bytes that are not a line of the log/) as string],
    ],
    [
      "other line ends",
      (list) => list.slice(0, 1).map((line) => `${line}\r`),
      [
        expect.stringMatching(/^line 1: \d+ bytes that are not a line of the log/) as string,
        "chain D is missing: it had 4 records",
      ],
    ],
  ];

  test.each(cases)("%s is found", (_, tamper, expected) => {
    expect(findings(tamper(lines))).toEqual(expected);
  });

  test("a log without its last newline is found", () => {
    writeFileSync(desk.file, lines.join("\n"));
    expect(found(desk.verify(), logs)).toEqual([`line 17: an unfinished line of ${lines[16].length} bytes`]);
  });

  test("chains recomputed with another key are found, also where they claim to be ours", () => {
    const forger = createDesk();
    forger.chain(20);
    const forged = forger.lines();
    const [theirs, ours] = [forged[0], lines[0]].map((line) => (JSON.parse(line) as { key: string }).key);
    const log = forged[0].slice(8, 24);
    desk.replace([...lines, ...forged]);
    expect(found(desk.verify(), [...logs, log])).toEqual([
      `line 18: chain E was written with another key (${theirs}, not ${ours})`,
    ]);
    desk.replace([...lines, ...forged.map((line) => line.replace(theirs, ours))]);
    expect(found(desk.verify(), [...logs, log])).toEqual([
      "line 18: records 0 to 21 of chain E were changed, up to line 39",
    ]);
  });

  test("made-up chains do not fill the memory, and each of their records is a finding", () => {
    const strangers = Array.from({ length: 3000 }, (_, index) =>
      lines[0].replace(logs[0], String(index).padStart(16, "_")),
    );
    desk.replace([...strangers, ...lines]);
    const { records, chains, findings, moreFindings } = desk.verify();
    expect({ records, chains, findings: findings.length + moreFindings }).toEqual({
      records: 3017,
      chains: 1004,
      findings: 3000,
    });
  });

  test("a format that is not known is not guessed at", () => {
    expect(findings(lines.with(0, lines[0].replace('"version":2', '"version":3')))).toEqual([
      "line 1: chain A has a format that this version does not know",
    ]);
  });

  test("what is no audit log at all has so many findings that they are counted", () => {
    desk.replace(Array.from({ length: 5000 }, () => "lorem ipsum"));
    expect(desk.verify()).toMatchObject({ records: 0, moreFindings: 4901, findings: { length: 100 } });
  });
});

/** What verify says of a log into which this was put, without a newline, before a writer went on. */
async function appended(scrap: (line: string) => string): Promise<{ findings: string[]; notes: readonly string[] }> {
  const own = createDesk();
  own.chain(1);
  const log = own.open();
  log.write(event({ client: { name: "c", version: "1" }, metadata: { a: {} } }));
  await log.flush();
  writeFileSync(own.file, scrap(own.lines()[4]), { flag: "a" });
  log.write(event());
  log.close();
  const report = own.verify();
  return { findings: found(report), notes: report.notes };
}

const forge = (line: string): string => line.replace('"seq":1', '"seq":2').replace('"echo"', '"rm"');

describe("what a writer finds at the end of the file", () => {
  const strange = "bytes that are not a line of the log, and that no record mentions";

  test.each<[string, (line: string) => string]>([
    ["a whole event without a mac", (line) => `${forge(line).slice(0, -34)}}`],
    ["a whole event with something after it", (line) => `${forge(line)} `],
    [
      "an event of a chain that there is not",
      (line) =>
        forge(line)
          .replaceAll(/"log":"(.)/g, (_, first) => `"log":"${first === "_" ? "-" : "_"}`)
          .slice(0, -20),
    ],
    ["an event that would not be next", (line) => line.slice(0, -20)],
    ["another text", () => '{"user":"root","did":"noth'],
    ["a text before the beginning of a record", (line) => `x${forge(line).slice(0, -20)}`],
  ])("%s is not accounted for by the record that says how long it was", async (_, scrap) => {
    const { findings } = await appended(scrap);
    expect(findings[0]).toContain(strange);
  });

  test("the beginning of the next record is accounted for, with a note", async () => {
    // The longest one has the objects inside it whole, and lacks its mac.
    for (const length of [1, 8, 12, 24, 30, 45, 60, 200, 330]) {
      const { findings, notes } = await appended((line) => forge(line).slice(0, length));
      expect(findings).toEqual([]);
      expect(notes).toEqual([
        `line 6: ${length} bytes of an unfinished line. A later record confirms their number, but not their content`,
      ]);
    }
  });

  test("what stands before the first record is not accounted for either", () => {
    const own = createDesk();
    own.chain(1);
    const forged = forge(own.lines()[1]).slice(0, -35);
    for (const scrap of [`${forged}}`, forged, "buy milk"]) {
      rmSync(join(own.folder, "state"), { recursive: true });
      writeFileSync(own.file, scrap);
      own.chain(1);
      expect(found(own.verify())).toEqual([`line 1: ${scrap.length} ${strange}`]);
    }
  });

  test("nor is it taken for a line that is being written", async () => {
    const own = createDesk();
    const log = own.open();
    log.write(event());
    await log.flush();
    const forged = forge(own.lines()[1]).slice(0, -35);
    writeFileSync(own.file, `${forged}}`, { flag: "a" });
    expect(found(own.verify())).toEqual([`line 3: an unfinished line of ${forged.length + 1} bytes`]);
    log.close();
  });
});

describe("properties", { timeout: 60_000 }, () => {
  let bytes: Buffer;
  beforeAll(() => {
    bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  });

  test("any other byte anywhere is found", () => {
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] ^= change;
        writeFileSync(desk.file, changed);
        expect(desk.verify().findings).not.toEqual([]);
      }),
      {
        numRuns: runs(300),
        examples: [
          [bytes.length - 1, 1],
          [bytes.length - 4, 1],
          [0, 1],
          [7, 42],
        ],
      },
    );
  });

  test("any removed line is found, and any removed run of lines", () => {
    for (let from = 0; from < lines.length; from++) {
      for (let count = 1; count <= lines.length - from; count++) {
        expect(findings(without(lines, from, count)), `${count} from ${from + 1}`).not.toEqual([]);
      }
    }
  });

  test("any line put in a second time is found, wherever it is put", () => {
    for (const line of lines) {
      for (let at = 0; at <= lines.length; at++) expect(findings(lines.toSpliced(at, 0, line))).not.toEqual([]);
    }
  });

  // Which of two processes was first at the file is not part of what they wrote. All else is.
  test("any swap of two lines is found, unless each process's own lines keep their order", () => {
    let kept = 0;
    for (let one = 0; one < lines.length; one++) {
      for (let other = one + 1; other < lines.length; other++) {
        const swapped = swap(lines, one, other);
        const concurrent = [one, other].every((index) => index >= 5 && index < 13);
        const isKept = concurrent && JSON.stringify(byChain(swapped)) === JSON.stringify(byChain(lines));
        if (isKept) kept++;
        expect(findings(swapped).length === 0, `${one + 1} and ${other + 1}`).toBe(isKept);
      }
    }
    expect(kept).toBe(7);
  });
});

describe("ends", () => {
  test("a log that is being written is not cut", async () => {
    const own = createDesk();
    const log = own.open();
    log.write(event());
    await log.flush();
    const name = String(own.records()[0]["log"]);
    expect(own.verify().findings).toEqual([]);
    expect(notes(own.verify(), [name])).toEqual(["chain A is still being written"]);
    // Its head knows how far it came.
    own.replace(own.lines().slice(0, -1));
    expect(found(own.verify(), [name])).toEqual(["line 1: record 1 of chain A is missing after it"]);
    log.close();
  });

  test("a line that is just being written is no finding", async () => {
    const own = createDesk();
    const log = own.open();
    await log.flush();
    writeFileSync(own.file, '{"log":"', { flag: "a" });
    const report = own.verify();
    expect(report.findings).toEqual([]);
    expect(report.notes[0]).toBe("line 2: an unfinished line of 8 bytes: it is being written");
    log.close();
  });

  test("on another machine the closing record is relied on, and what that leaves open is said", () => {
    const own = createDesk();
    own.chain(2);
    const names = [String(own.records()[0]["log"])];
    const nothingKnown =
      "this machine does not know where this log ended: whole chains may have been removed from its end";
    mkdirSync(join(own.folder, "elsewhere"));
    const keyFile = join(own.folder, "elsewhere", "key");
    copyFileSync(own.keyFile, keyFile);
    const moved = verifyAudit({ files: [own.file], keyFile });
    expect(moved.findings).toEqual([]);
    expect(notes(moved, names)).toEqual([nothingKnown]);
    own.replace(own.lines().slice(0, -1));
    const cut = verifyAudit({ files: [own.file], keyFile });
    expect(cut.findings).toEqual([]);
    expect(notes(cut, names)).toEqual([
      "chain A has no closing record, and there is no note of where it ended: it may have been cut",
      nothingKnown,
    ]);
  });

  test("a log that was moved away and begun anew verifies in parts, the oldest first", () => {
    const own = createDesk();
    own.chain(1);
    const names = [String(own.records()[0]["log"])];
    const old = `${own.file}.1`;
    renameSync(own.file, old);
    own.chain(1);
    expect(found(own.verify(), names)).toEqual(["line 1: records 0 to 2 of chain A are missing before it"]);
    const { keyFile, file } = own;
    expect(verifyAudit({ files: [old, file], keyFile })).toMatchObject({ findings: [], notes: [], records: 6 });
    expect(found(verifyAudit({ files: [file, old], keyFile }), names)).toEqual([
      `${file} line 1: records 0 to 2 of chain A are missing before it`,
    ]);
  });

  test("a file that never was an audit log is called so, one that was is a finding", () => {
    const own = createDesk();
    own.chain(1);
    const notes = join(own.folder, "notes.txt");
    writeFileSync(notes, "buy milk\nwater the plants\n");
    for (const files of [[notes], [notes, own.file]]) {
      expect(() => verifyAudit({ files, keyFile: own.keyFile })).toThrow(
        expect.objectContaining({ code: "FILE_NOT_READABLE", message: `This is not an audit log: ${notes}` }),
      );
    }
    // Something was done to this one.
    writeFileSync(
      notes,
      own
        .lines()
        .map((line) => `${line}\r\n`)
        .join(""),
    );
    expect(verifyAudit({ files: [notes], keyFile: own.keyFile }).findings).toHaveLength(3);
    own.replace(["buy milk"]);
    expect(found(own.verify())).toContainEqual(expect.stringMatching(/^chain \S+ is missing: it had 3 records$/));
  });

  test("a head that was changed is told of, and not believed", () => {
    const own = createDesk();
    own.chain(1);
    const heads = join(own.folder, "state", "audit");
    const [folder] = readdirSync(heads);
    const head = join(heads, folder, String(own.records()[0]["log"]));
    writeFileSync(head, readFileSync(head, "utf8").replace('"seq":2', '"seq":9'));
    expect(own.verify()).toMatchObject({
      findings: [],
      notes: [
        `${head} was changed after it was written, so it cannot confirm where the log ends`,
        "this machine does not know where this log ended: whole chains may have been removed from its end",
      ],
    });
  });

  test("a key that is not there, or a log, is an error", () => {
    const own = createDesk();
    own.chain(1);
    expect(() => verifyAudit({ files: [join(own.folder, "none")], keyFile: own.keyFile })).toThrow(
      expect.objectContaining({ code: "FILE_NOT_READABLE" }),
    );
    expect(() => verifyAudit({ files: [own.folder], keyFile: own.keyFile })).toThrow(
      expect.objectContaining({
        code: "FILE_NOT_READABLE",
        remedy: "it is not a regular file: check the path and its permissions",
      }),
    );
    rmSync(own.keyFile);
    expect(() => own.verify()).toThrow(expect.objectContaining({ code: "NO_AUDIT_KEY" }));
  });
});

/** A desk with the key of the log from an earlier version. */
function withKey(): Desk {
  const own = createDesk();
  mkdirSync(dirname(own.keyFile), { recursive: true });
  writeFileSync(own.keyFile, "k".repeat(32), { mode: 0o600 });
  return own;
}

describe("a log of an earlier version", () => {
  // Written by the first release, with the key that is 32 times the letter k.
  const old = readFileSync(new URL("../../fixtures/audit/version-1.jsonl", import.meta.url), "utf8");

  test("is verified as ever", () => {
    const own = withKey();
    writeFileSync(own.file, old);
    expect(own.verify()).toMatchObject({ findings: [], records: 7, chains: 1 });
    writeFileSync(own.file, old.replace("delete_everything", "list_notes"));
    expect(found(own.verify())).toEqual([
      expect.stringMatching(/^line 4: record 3 of chain .* was changed or inserted$/),
    ]);
  });

  test("is gone on with, in the version of today", () => {
    const own = withKey();
    writeFileSync(own.file, old);
    own.chain(1);
    expect(own.verify()).toMatchObject({ findings: [], records: 10, chains: 2 });
    expect(own.records().flatMap(({ version = [] }) => version)).toEqual([1, 2]);
  });
});
