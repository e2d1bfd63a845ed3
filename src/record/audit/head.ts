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

/** How far a chain has come. It is kept apart from the log, so that it contradicts a truncated log. */
interface Head {
  readonly log: string;
  /** The number of the last record; -1 before the first. */
  readonly seq: number;
  readonly mac: string;
  /**
   * "open": being written. "closed": ended with a closing record. "left": ended without one, because there was no room
   * for it.
   */
  readonly state: "open" | "closed" | "left";
  readonly author: Author;
}

/** A head that was read from disk. */
export interface FoundHead extends Head {
  readonly file: string;
  /** Whether its writer may still be running. */
  readonly isLive: boolean;
}

/** The head file of one writer. Only one save at a time. */
export interface HeadFile {
  save(head: Omit<Head, "author" | "log">, done: (error: Error | null) => void): void;
  saveSync(head: Omit<Head, "author" | "log">): void;
  close(): void;
}

/** The folder for the heads of an audit log: next to the key, named after the canonical path of the log. */
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
    // Always overwrites the same bytes of the file: this needs no space, so it works on a full disk.
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
      // Closing now would let a write in progress go to another file that reuses the descriptor.
      if (!isSaving) closeSync(descriptor);
    },
  };
}

/** Reads the heads in a folder. Damaged ones are listed in `spoilt`. */
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

/** Removes heads that are now recorded as seals in the log. */
export function removeHeads(heads: readonly FoundHead[]): void {
  for (const { file } of heads) {
    try {
      unlinkSync(file);
    } catch {
      // Another writer has removed it already.
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
    // Its writer may be writing it right now.
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
