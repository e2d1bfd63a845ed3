import { createHash } from "node:crypto";
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type Author, isRunning } from "./author.ts";
import { closeLine, computeMac, readMac } from "./chain.ts";
import type { AuditKey } from "./key.ts";
import { sleep } from "./sleep.ts";

/** How far a chain has come. Kept apart from the log, so that a log that was cut short contradicts it. */
interface Head {
  readonly log: string;
  /** The number of the last record; -1 before the first. */
  readonly seq: number;
  readonly mac: string;
  /** Being written; ended with a closing record; ended without, because there was no room for one. */
  readonly state: "open" | "closed" | "left";
  readonly author: Author;
}

/** A head as it was found. */
export interface FoundHead extends Head {
  readonly file: string;
  /** Whether its writer may still be at work. */
  readonly isLive: boolean;
}

/** A writer's own head. Saved once at a time. */
export interface HeadFile {
  save(head: Omit<Head, "author" | "log">, done: (error: Error | null) => void): void;
  saveSync(head: Omit<Head, "author" | "log">): void;
  close(): void;
}

/** The folder of the heads of an audit log: beside the key, and by the real path of the log. */
export function headFolder(keyFile: string, key: AuditKey, file: string): string {
  const name = createHash("sha256").update(`${key.id}\n${file}`).digest("hex").slice(0, 32);
  return join(dirname(keyFile), "audit", name);
}

/** Makes a head for a new chain. */
export function createHead(folder: string, key: AuditKey, log: string, author: Author): HeadFile {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const descriptor = openSync(join(folder, log), "wx", 0o600);
  const encode = (head: Omit<Head, "author" | "log">): Buffer => encodeHead(key, { log, author, ...head });
  writeSync(descriptor, encode({ seq: -1, mac: "", state: "open" }));
  let isSaving = false;
  let isClosed = false;
  return {
    // Always the same bytes of the file: that takes no room, so it works where the disk is full.
    save(head, done) {
      isSaving = true;
      write(descriptor, encode(head), 0, HEAD_BYTES, 0, (error) => {
        isSaving = false;
        if (isClosed) closeSync(descriptor);
        done(error);
      });
    },
    saveSync: (head) => void writeSync(descriptor, encode(head), 0, HEAD_BYTES, 0),
    close() {
      isClosed = true;
      // A write that is under way would find another file behind the number.
      if (!isSaving) closeSync(descriptor);
    },
  };
}

/** The heads in a folder. Those that are not what their writer wrote are named in `spoilt`. */
export function readHeads(folder: string, key: AuditKey, now: number): { heads: FoundHead[]; spoilt: string[] } {
  const heads: FoundHead[] = [];
  const spoilt: string[] = [];
  for (const name of list(folder)) {
    const file = join(folder, name);
    const head = readHead(file, name, key, now);
    if (head === "spoilt") spoilt.push(file);
    else if (head !== null) heads.push(head);
  }
  return { heads, spoilt };
}

/** Forgets heads that a record in the log now vouches for. */
export function removeHeads(heads: readonly FoundHead[]): void {
  for (const { file } of heads) {
    try {
      unlinkSync(file);
    } catch {
      // Another writer that started with us was quicker.
    }
  }
}

const HEAD_BYTES = 512;

function encodeHead(key: AuditKey, { log, seq, mac, state, author }: Head): Buffer {
  const body = JSON.stringify({ log, seq, last: mac, state, ...author }).slice(0, -1);
  const line = closeLine(body, computeMac(key.heads, "", body));
  return Buffer.from(line.trimEnd().padEnd(HEAD_BYTES - 1) + "\n", "latin1");
}

function readHead(file: string, name: string, key: AuditKey, now: number): FoundHead | "spoilt" | null {
  for (let attempt = 0; attempt < 3; attempt++) {
    const found = readFile(file);
    if (found === null) return null;
    const text = found.bytes.toString("latin1").trimEnd();
    const body = text.slice(0, text.lastIndexOf(',"mac":"'));
    if (readMac(Buffer.from(text, "latin1")) === computeMac(key.heads, "", body)) {
      const { log, seq, last, state, pid, start, place } = JSON.parse(text) as Author & Head & { last: string };
      const author = { pid, start, place };
      if (log !== name) return "spoilt";
      const isLive = state === "open" && isRunning(author, now - found.time);
      return { log, seq, mac: last, state, author, file, isLive };
    }
    // Perhaps its writer is just writing it.
    sleep(2);
  }
  return "spoilt";
}

function readFile(file: string): { bytes: Buffer; time: number } | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return null;
  }
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const length = readSync(descriptor, bytes, 0, HEAD_BYTES, 0);
    return { bytes: bytes.subarray(0, length), time: fstatSync(descriptor).mtimeMs };
  } finally {
    closeSync(descriptor);
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[\w-]{16}$/.test(name));
  } catch {
    return [];
  }
}
