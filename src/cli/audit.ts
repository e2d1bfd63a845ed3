import { ProxyError } from "../errors.ts";
import { showText } from "../message/text.ts";
import { auditKeyFile } from "../record/audit/key.ts";
import type { AuditReport } from "../record/audit/findings.ts";
import { verifyAudit } from "../record/audit/verify.ts";
import { nearest } from "../text/nearest.ts";
import type { Parsed } from "./command-line.ts";
import type { ErrorOutput } from "./error-output.ts";
import { print } from "./output.ts";
import { value } from "./settings.ts";
import { showWord, usage } from "./usage.ts";

/** Runs `fairlead audit`. Exit code 1 means findings, so every error that prevents an answer is 2. */
export async function runAudit(parsed: Parsed, errors: ErrorOutput): Promise<number> {
  try {
    const [action, ...files] = parsed.words;
    checkUsage(parsed, action, files);
    const report = verifyAudit({ files, keyFile: value(parsed, "key") ?? auditKeyFile(process.env) });
    await print(showReport(report));
    return report.findings.length > 0 ? 1 : 0;
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    await errors.error(error);
    return 2;
  }
}

function checkUsage({ rest }: Parsed, action: string | undefined, files: readonly string[]): void {
  const example = "Write fairlead audit verify <file>";
  if (action === undefined) throw usage("Nothing to do with an audit log", example);
  if (action !== "verify") {
    const hint = nearest(action, ["verify"]);
    throw usage(`Unknown word: ${showWord(action)}`, hint === null ? example : `Did you mean fairlead audit ${hint}?`);
  }
  if (files.length === 0 || rest !== null) throw usage("No audit log to verify", example);
}

/** Formats the report: a summary line, then lost events, files, findings and notes. */
function showReport(report: AuditReport): string {
  const { files, lost, findings, moreFindings, notes, moreNotes } = report;
  const counts = [
    count(report.records, "record"),
    count(report.chains, "chain"),
    count(report.gaps, "gap"),
    `${count(lost, "event")} lost`,
  ];
  const total = findings.length + moreFindings;
  const isOne = files.length === 1;
  const intact = `as ${isOne ? "it was" : "they were"} written`;
  const subject = isOne ? files[0].file : `${files.length} files`;
  const lines = [`${subject}: ${total === 0 ? intact : count(total, "finding")} (${counts.join(", ")})`];
  if (lost > 0) lines.push(`LOST: ${count(lost, "event")} could not be written, in ${count(report.gaps, "gap")}`);
  if (!isOne) for (const { file, records } of files) lines.push(`${file}: ${count(records, "record")}`);
  for (const { where, text } of findings) lines.push(where === null ? text : `${where}: ${text}`);
  if (moreFindings > 0) lines.push(`and ${count(moreFindings, "more finding")}`);
  for (const note of notes) lines.push(`note: ${note}`);
  if (moreNotes > 0) lines.push(`and ${count(moreNotes, "more note")}`);
  return lines.map((line) => `${showText(line, 1000)}\n`).join("");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
