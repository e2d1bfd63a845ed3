import { ProxyError } from "../../errors.ts";
import { RECORD_START } from "./chain.ts";
import { type Checker, createChecker } from "./check.ts";
import { realPath } from "./file.ts";
import { type AuditReport, createFindings, type Findings, type Place, showPlace } from "./findings.ts";
import { type FoundHead, headFolder, readHeads } from "./head.ts";
import { readAuditKey } from "./key.ts";
import { readLines } from "./reader.ts";

/** What is to be verified, and with which key. */
export interface VerifyOptions {
  /** A log; where it was moved away and begun anew, its parts from the oldest on. */
  readonly files: readonly string[];
  readonly keyFile: string;
  readonly now?: () => number;
}

/** Checks that an audit log is as it was written. Throws a ProxyError where that cannot be told. */
export function verifyAudit({ files, keyFile, now = Date.now }: VerifyOptions): AuditReport {
  const key = readAuditKey(keyFile);
  const findings = createFindings();
  const checker = createChecker(key, findings);
  let spoilt: string[] = [];
  const lookFor = (file: string): ReturnType<typeof readHeads> =>
    readHeads(headFolder(keyFile, key, realPath(file)), key, now());
  const look = (): FoundHead[] => {
    const found = files.map(lookFor);
    spoilt = found.flatMap((each) => each.spoilt);
    return found.flatMap((each) => each.heads);
  };
  // Before the log: what a head says was in the log before it said so.
  const heads = look();
  const { parts, unfinished } = readAll(files, checker, findings);
  for (const { file, isForeign } of parts) {
    // Where it is known to have been one, that it is none any more is a finding.
    if (isForeign && lookFor(file).heads.length === 0) throw noLog(file);
  }
  checker.end();
  for (const { log, seq, mac } of heads) if (seq >= 0) checker.compare([log, seq, mac], null);
  // A writer may have begun while we read.
  const known = [...heads, ...look()];
  if (unfinished !== null) judgeUnfinished(unfinished, known, checker, findings);
  judgeEnds(known, checker, findings);
  for (const file of spoilt)
    findings.note(`${file} was changed after it was written, so it cannot confirm where the log ends`);
  if (heads.length === 0) {
    findings.note("this machine does not know where this log ended: whole chains may have been removed from its end");
  }
  const read = parts.map(({ file, records }) => ({ file, records }));
  return { files: read, ...checker.counts, chains: checker.chains.size, ...findings.list() };
}

interface Unfinished {
  readonly place: Place;
  readonly bytes: number;
  /** Whether it looks like what a writer leaves. */
  readonly isBegun: boolean;
}

/** One of the files, as far as it can be told from looking at it. */
interface Part {
  readonly file: string;
  readonly records: number;
  /** Whether there is something in it, and nothing of that looks like a record, not even a broken one. */
  readonly isForeign: boolean;
}

/** Reads all files, and says what the last of them ends with, where that is no newline. */
function readAll(
  files: readonly string[],
  checker: Checker,
  findings: Findings,
): { parts: Part[]; unfinished: Unfinished | null } {
  const unfinished: Unfinished[] = [];
  const parts: Part[] = [];
  let order = 0;
  for (const [index, file] of files.entries()) {
    let number = 0;
    let isFamiliar = false;
    const before = checker.counts.records;
    readLines(file, (line) => {
      const place = { file: files.length > 1 ? file : null, line: ++number, order: ++order };
      isFamiliar ||= line.text?.includes(RECORD_START) === true;
      const isBegun = checker.take(line, place);
      if (line.isFinished) return;
      if (index === files.length - 1) unfinished.push({ place, bytes: line.bytes, isBegun });
      else findings.add(place, unfinishedLine(line));
    });
    parts.push({ file, records: checker.counts.records - before, isForeign: number > 0 && !isFamiliar });
  }
  return { parts, unfinished: unfinished[0] ?? null };
}

function noLog(file: string): ProxyError {
  const remedy = "None of its lines is a record: give a file that was written with --audit";
  return new ProxyError("FILE_NOT_READABLE", `This is not an audit log: ${file}`, remedy);
}

/**
 * A line without an end is being written, or its writer died over it. Where no writer is left to have
 * done so, it was cut; and what does not begin like a record, no writer began.
 */
function judgeUnfinished(rest: Unfinished, heads: readonly FoundHead[], checker: Checker, findings: Findings): void {
  const open = heads.filter(({ log, state }) => state !== "closed" && checker.chains.get(log)?.isClosed !== true);
  if (open.length === 0 || !rest.isBegun) return findings.add(rest.place, unfinishedLine(rest));
  const why = open.some(({ isLive }) => isLive) ? "it is being written" : "its writer died";
  findings.note(`${showPlace(rest.place)}: ${unfinishedLine(rest)}: ${why}`);
}

function unfinishedLine({ bytes }: { bytes: number }): string {
  return `an unfinished line of ${bytes} bytes`;
}

/** Says how chains ended that have no closing record. */
function judgeEnds(heads: readonly FoundHead[], checker: Checker, findings: Findings): void {
  for (const [log, chain] of checker.chains) {
    if (chain.isClosed || chain.isDoubted) continue;
    const head = heads.find((each) => each.log === log);
    if (head?.isLive === true) findings.note(`chain ${log} is still being written`);
    else if (head !== undefined || chain.isSealed) {
      findings.note(`chain ${log} ended without a closing record: its writer crashed or was killed`);
    } else
      findings.note(`chain ${log} has no closing record, and there is no note of where it ended: it may have been cut`);
  }
}
