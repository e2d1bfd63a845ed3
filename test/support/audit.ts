import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuditFile, openAuditFile } from "../../src/record/audit-file.ts";
import type { AuditReport } from "../../src/record/audit-findings.ts";
import { type AuditOptions, openAudit } from "../../src/record/audit-log.ts";
import { verifyAudit } from "../../src/record/audit-verify.ts";
import type { AuditLog } from "../../src/record/audit-writer.ts";
import type { AuditEvent } from "../../src/record/event.ts";

/** A call of a tool, as an event; the tests say what matters. */
export function event(changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    time: Date.UTC(2026, 6, 28, 12),
    session: "s1",
    direction: "up",
    kind: "request",
    method: "tools/call",
    tool: "echo",
    cut: null,
    id: "7",
    bytes: 100,
    class: "review",
    verdict: "pass",
    rule: null,
    note: null,
    latency: null,
    sent: null,
    identity: null,
    client: null,
    server: null,
    mcpSession: null,
    policy: null,
    reason: null,
    metadata: null,
    status: null,
    address: null,
    times: null,
    ...changes,
  };
}

/** A folder with an audit log and a key, and what was warned of. */
export interface Desk {
  readonly folder: string;
  readonly file: string;
  readonly keyFile: string;
  readonly warnings: string[];
  readonly open: (options?: Partial<AuditOptions>) => AuditLog;
  /** Writes a whole chain of so many events. */
  readonly chain: (events: number) => void;
  /** The lines of the log, parsed. */
  readonly records: () => Record<string, unknown>[];
  readonly lines: () => string[];
  /** Puts these lines in place of the log. */
  readonly replace: (lines: readonly string[]) => void;
  readonly verify: () => AuditReport;
}

let root: string | undefined;

/** Removes all folders. */
export function clearDesks(): void {
  if (root !== undefined) rmSync(root, { recursive: true, force: true });
  root = undefined;
}

/** Sets up a folder to write a log in. */
export function createDesk(): Desk {
  root ??= mkdtempSync(join(tmpdir(), "fairlead-audit-"));
  const folder = mkdtempSync(join(root, "desk-"));
  const file = join(folder, "audit.jsonl");
  const keyFile = join(folder, "state", "audit.key");
  const warnings: string[] = [];
  const lines = (): string[] => readFileSync(file, "utf8").split("\n").slice(0, -1);
  const open = (options: Partial<AuditOptions> = {}): AuditLog =>
    openAudit({ file, keyFile, warn: (text) => warnings.push(text), ...options });
  return {
    folder,
    file,
    keyFile,
    warnings,
    open,
    lines,
    chain(events) {
      const log = open();
      for (let index = 0; index < events; index++) log.write(event({ id: String(index) }));
      log.close();
    },
    records: () => lines().map((line) => JSON.parse(line) as Record<string, unknown>),
    replace: (newLines) => writeFileSync(file, newLines.map((line) => `${line}\n`).join("")),
    verify: () => verifyAudit({ files: [file], keyFile }),
  };
}

/** The findings of a report, as the command shows them. Chains are called A, B, C in the order of `logs`. */
export function found(report: AuditReport, logs: readonly string[] = []): string[] {
  return report.findings.map(({ where, text }) => named(where === null ? text : `${where}: ${text}`, logs));
}

/** A text with short names for chains. */
export function named(text: string, logs: readonly string[]): string {
  return logs.reduce((result, log, index) => result.replaceAll(log, String.fromCharCode(65 + index)), text);
}

/** A disk with so much room. Writes stop short where it ends. */
export function smallDisk(disk: { room: number }): NonNullable<AuditOptions["openFile"]> {
  function fitting(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, disk.room);
    disk.room -= part.length;
    return part;
  }
  return (file, warn) => {
    const real = openAuditFile(file, warn);
    const small: Pick<AuditFile, "append" | "appendSync"> = {
      append(bytes, done) {
        if (disk.room === 0) setImmediate(() => done(fullDisk(), 0));
        else real.append(fitting(bytes), done);
      },
      appendSync(bytes) {
        if (disk.room === 0) throw fullDisk();
        return real.appendSync(fitting(bytes));
      },
    };
    return Object.assign(Object.create(real) as AuditFile, small);
  };
}

function fullDisk(): NodeJS.ErrnoException {
  return Object.assign(new Error("no space left"), { code: "ENOSPC" });
}

/** Runs a program in a process of its own. It has `openAudit`, `event`, `meet`, and what is passed as `given`. */
export function runProgram(program: string, given: object): { pid: number; ended: Promise<string> } {
  const code = `
    import { openAudit } from "${new URL("../../src/record/audit-log.ts", import.meta.url).href}";
    import { event } from "${import.meta.url}";
    import * as fs from "node:fs";
    const given = ${JSON.stringify(given)};
    // Waits until so many processes have come to a place.
    async function meet(place, processes) {
      fs.mkdirSync(place, { recursive: true });
      fs.writeFileSync(place + "/" + process.pid, "");
      while (fs.readdirSync(place).length < processes) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    ${program}`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code], {
    cwd: join(import.meta.dirname, "../.."),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = new Promise<string>((resolve) => child.once("close", () => resolve(output)));
  return { pid: child.pid ?? 0, ended };
}
