import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** The command as it is built, here or, by the variable, elsewhere. */
const COMMAND = process.env["FAIRLEAD_COMMAND"] ?? join(ROOT, "dist/command/fairlead.cjs");

/** What the server in fixtures/servers/scripted.mjs is told. */
export interface Script {
  readonly tools: readonly string[];
  readonly says?: readonly { readonly on: number | string; readonly bytes: Buffer }[];
  readonly holds?: readonly (number | string)[];
}

/** A client, the built command and the scripted server, as real processes. */
export interface Trio {
  /** What the client has heard so far, line by line, as latin1. */
  readonly lines: readonly string[];
  /** Says these bytes, in pieces of these sizes or in one. */
  say(bytes: Buffer | string, pieces?: () => number): Promise<void>;
  /** Waits until the client hears an answer with this id. */
  answered(id: number | string): Promise<void>;
  /** Ends the client and waits for the rest to go. */
  close(): Promise<TrioEnd>;
}

/** What is left when all is over. */
export interface TrioEnd {
  readonly code: number | null;
  readonly stderr: string;
  /** Every byte the server heard. */
  readonly server: Buffer;
  /** The events in the audit file. */
  readonly audit: readonly Record<string, unknown>[];
}

/** Starts them. `{audit}` in the options stands for the file whose events `close` returns. */
export function startTrio(options: readonly string[], script: Script): Trio {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-cases-"));
  const file = (name: string): string => join(folder, name);
  const says = (script.says ?? []).map(({ on, bytes }) => ({ on, bytes: bytes.toString("base64") }));
  writeFileSync(file("script.json"), JSON.stringify({ ...script, says, heard: file("heard") }));
  const server = [process.execPath, join(ROOT, "test/fixtures/servers/scripted.mjs"), file("script.json")];
  const words = options.map((word) => word.replace("{audit}", file("audit")));
  // A key of its own, so that nothing is left in the user's folders.
  const env = { ...process.env, FAIRLEAD_AUDIT_KEY: file("audit.key") };
  const child = spawn(process.execPath, [COMMAND, ...words, "--", ...server], { stdio: "pipe", env });
  const ended = once(child, "close");
  const lines: string[] = [];
  const stderr: Buffer[] = [];
  let rest = "";
  let tell: () => void = nothing;
  let isOver = false;
  child.on("close", () => {
    isOver = true;
    tell();
  });
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  child.stdin.on("error", () => {});
  child.stdout.on("data", (chunk: Buffer) => {
    const pieces = (rest + chunk.toString("latin1")).split("\n");
    rest = pieces.pop() ?? "";
    lines.push(...pieces);
    tell();
  });

  async function drained(bytes: Buffer): Promise<void> {
    if (!child.stdin.write(bytes)) await once(child.stdin, "drain");
  }

  return {
    lines,
    async say(bytes, pieces) {
      const all = Buffer.from(bytes);
      if (pieces === undefined) return drained(all);
      for (let at = 0; at < all.length;) {
        const size = pieces();
        await drained(all.subarray(at, at + size));
        at += size;
      }
    },
    answered(id) {
      return new Promise((resolve, reject) => {
        const fail = (): void => {
          child.kill("SIGKILL");
          const last = lines.slice(-5).map((line) => line.slice(0, 500));
          reject(new Error([`no answer to ${id}; last heard:`, ...last, ...stderr].join("\n")));
        };
        const late = setTimeout(fail, 20_000);
        let seen = 0;
        tell = () => {
          while (seen < lines.length && idOf(lines[seen]) !== id) seen++;
          if (seen === lines.length && !isOver) return;
          clearTimeout(late);
          if (seen === lines.length) fail();
          else resolve();
        };
        tell();
      });
    },
    async close() {
      child.stdin.end();
      const [code] = (await ended) as [number | null];
      const heard = readFileSync(file("heard"));
      const audit = words.includes(file("audit")) ? readEvents(file("audit")) : [];
      rmSync(folder, { recursive: true });
      return { code, stderr: Buffer.concat(stderr).toString(), server: heard, audit };
    },
  };
}

function nothing(): void {}

function idOf(line: string): unknown {
  if (line.length > 10_000) return undefined;
  try {
    const message = JSON.parse(line) as { id?: unknown; method?: unknown };
    return message.method === undefined ? message.id : undefined;
  } catch {
    return undefined;
  }
}

function readEvents(file: string): Record<string, unknown>[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
