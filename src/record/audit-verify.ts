import { type Checker, createChecker } from "./audit-check.ts";
import { realPath } from "./audit-file.ts";
import { type AuditReport, createFindings, type Findings, type Place, showPlace } from "./audit-findings.ts";
import { type FoundHead, headFolder, readHeads } from "./audit-head.ts";
import { readAuditKey } from "./audit-key.ts";
import { readLines } from "./audit-reader.ts";

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
  const look = (): FoundHead[] => {
    const found = files.map((file) => readHeads(headFolder(keyFile, key, realPath(file)), key, now()));
    spoilt = found.flatMap((each) => each.spoilt);
    return found.flatMap((each) => each.heads);
  };
  // Before the log: what a head says was in the log before it said so.
  const heads = look();
  const unfinished = readAll(files, checker, findings);
  checker.end();
  for (const { log, seq, mac } of heads) if (seq >= 0) checker.compare([log, seq, mac], null);
  // A writer may have begun while we read.
  const known = [...heads, ...look()];
  if (unfinished !== null) judgeUnfinished(unfinished, known, checker, findings);
  judgeEnds(known, checker, findings);
  for (const file of spoilt) findings.note(`${file} is not as its writer left it: it tells nothing about an end`);
  if (heads.length === 0) {
    findings.note("nothing is known here of where this log ended: whole chains may have been removed from its end");
  }
  return { ...checker.counts, chains: checker.chains.size, ...findings.list() };
}

interface Unfinished {
  readonly place: Place;
  readonly bytes: number;
}

/** Reads all files. Returns what the last of them ends with, where that is no newline. */
function readAll(files: readonly string[], checker: Checker, findings: Findings): Unfinished | null {
  const unfinished: Unfinished[] = [];
  let order = 0;
  for (const [index, file] of files.entries()) {
    let number = 0;
    readLines(file, (line) => {
      const place = { file: files.length > 1 ? file : null, line: ++number, order: ++order };
      checker.take(line, place);
      if (line.isFinished) return;
      if (index === files.length - 1) unfinished.push({ place, bytes: line.bytes });
      else findings.add(place, unfinishedLine(line));
    });
  }
  return unfinished[0] ?? null;
}

/** A line without an end is being written, or its writer died over it. Where no writer is left to have done so, it was cut. */
function judgeUnfinished(rest: Unfinished, heads: readonly FoundHead[], checker: Checker, findings: Findings): void {
  const open = heads.filter(({ log, state }) => state !== "closed" && checker.chains.get(log)?.isClosed !== true);
  if (open.length === 0) return findings.add(rest.place, unfinishedLine(rest));
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
    } else findings.note(`chain ${log} has no closing record, and nothing tells where it ended: it may have been cut`);
  }
}
