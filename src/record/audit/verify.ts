import { ProxyError } from "../../errors.ts";
import { RECORD_START } from "./chain.ts";
import { type Checker, createChecker } from "./check.ts";
import { realPath } from "./file.ts";
import { type AuditReport, createFindings, type Findings, type Place, showPlace } from "./findings.ts";
import { type FoundHead, headFolder, readHeads } from "./head.ts";
import { readAuditKey } from "./key.ts";
import { readLines } from "./reader.ts";

/** The files to verify, and the key. */
export interface VerifyOptions {
  /** A log; if it was rotated, its parts from the oldest on. */
  readonly files: readonly string[];
  readonly keyFile: string;
  readonly now?: () => number;
}

/** Checks that an audit log is as it was written. Throws a ProxyError if that cannot be determined. */
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
  // Heads are read before the log: a record is in the log before its head says so.
  const heads = look();
  const { parts, unfinished } = readAll(files, checker, findings);
  for (const { file, isForeign } of parts) {
    // If a file is known to have been a log, it is a finding that it contains no records any more.
    if (isForeign && lookFor(file).heads.length === 0) throw noLog(file);
  }
  checker.end();
  for (const { log, seq, mac } of heads) if (seq >= 0) checker.compare([log, seq, mac], null);
  // A writer may have started while the files were read.
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
  /** Whether it looks like the beginning of a record. */
  readonly isBegun: boolean;
}

/** One of the files. */
interface Part {
  readonly file: string;
  readonly records: number;
  /** Whether it has content but nothing that looks like a record, not even a broken one. */
  readonly isForeign: boolean;
}

/** Reads all files. Returns the unfinished line at the end of the last one, if there is one. */
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
 * An unfinished last line is still being written, or its writer died while writing it. If no such writer is known, the
 * log was truncated; and if it does not begin like a record, no writer wrote it.
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

/** Reports how chains without a closing record ended. */
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
