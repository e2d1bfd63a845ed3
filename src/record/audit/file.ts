import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync, write, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ProxyError } from "../../errors.ts";
import { LF } from "../../message/characters.ts";
import { sleep } from "./sleep.ts";

/**
 * The file of an audit log. Other processes may write to it too: each line is complete because it leaves in one write.
 */
export interface AuditFile {
  /** Its real path. */
  readonly path: string;
  /** How many bytes of an unfinished line are at its end. */
  readonly unfinished: number;
  readonly size: number;
  append(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void;
  /** Returns how many bytes were written; throws if none could be. */
  appendSync(bytes: Buffer): number;
  /** Whether the file contains a text somewhere after an offset. */
  holds(text: string, from: number): boolean;
  close(): void;
}

/** Opens an audit log for appending, and creates it if it does not exist. */
export function openAuditFile(file: string, onExposed: (text: string) => void): AuditFile {
  let descriptor: number;
  try {
    descriptor = openForAppending(file);
  } catch (cause) {
    const { code = "it cannot be opened" } = cause as NodeJS.ErrnoException;
    const what = code === "ELOOP" ? "it is a link, in a directory that everybody may write to" : code;
    const remedy = `${what}: check the path and its permissions`;
    throw new ProxyError("FILE_NOT_WRITABLE", `Cannot write to ${file}`, remedy, { cause });
  }
  const stats = fstatSync(descriptor);
  const isRegular = stats.isFile();
  const mode = stats.mode & 0o777;
  if (isRegular && (mode & 0o077) !== 0 && process.platform !== "win32") {
    onExposed(`others may read the audit log ${file} (mode ${mode.toString(8)}): chmod 600 it if they should not`);
  }
  return {
    path: realPath(file),
    get unfinished() {
      return isRegular ? unfinishedBytes(descriptor) : 0;
    },
    get size() {
      return sizeOf(descriptor);
    },
    append: (bytes, done) => write(descriptor, bytes, 0, bytes.length, null, done),
    appendSync: (bytes) => writeSync(descriptor, bytes),
    holds: (text, from) => isRegular && readFrom(descriptor, from, MAX_LOOK_BYTES).includes(text),
    close: () => closeSync(descriptor),
  };
}

/** The canonical path of a log, however it was named. */
export function realPath(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    // The target of /dev/stderr may have no path.
    return resolve(file);
  }
}

/** How far back to look for the start of an unfinished line, and how far ahead for the end of a write. */
const MAX_LOOK_BYTES = 16 * 1024 * 1024;

function openForAppending(file: string): number {
  // A pipe without a reader must not block the exit. Windows has neither this flag nor such pipes.
  const flags = constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0) | followFlag(file);
  try {
    return openSync(file, flags | constants.O_RDWR, 0o600);
  } catch (error) {
    // A log may be writable without being readable.
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    return openSync(file, flags | constants.O_WRONLY, 0o600);
  }
}

/** In a directory that everybody can write to, a symbolic link could make the proxy write to another file. */
function followFlag(file: string): number {
  try {
    return (statSync(dirname(resolve(file))).mode & 0o002) === 0 ? 0 : (constants.O_NOFOLLOW ?? 0);
  } catch {
    return 0; // opening the file will report the error
  }
}

/** An unfinished line may be a write in progress. Then it grows within a moment. */
function unfinishedBytes(descriptor: number): number {
  let size = sizeOf(descriptor);
  let count = bytesAfterNewline(descriptor, size);
  for (let look = 0; count > 0 && look < MAX_LOOKS; look++) {
    sleep(2);
    const sizeNow = sizeOf(descriptor);
    if (sizeNow === size) break;
    size = sizeNow;
    count = bytesAfterNewline(descriptor, size);
  }
  return count;
}

const MAX_LOOKS = 10;

function bytesAfterNewline(descriptor: number, size: number): number {
  for (let look = 1; ; look *= 64) {
    const tail = readFrom(descriptor, Math.max(0, size - look), look);
    const newline = tail.lastIndexOf(LF);
    if (newline >= 0 || look >= size || look >= MAX_LOOK_BYTES) return tail.length - 1 - newline;
  }
}

function readFrom(descriptor: number, from: number, maxBytes: number): Buffer {
  try {
    const bytes = Buffer.alloc(Math.min(maxBytes, Math.max(0, sizeOf(descriptor) - from)));
    return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, from));
  } catch {
    return Buffer.alloc(0);
  }
}

function sizeOf(descriptor: number): number {
  try {
    return fstatSync(descriptor).size;
  } catch {
    // A network file system may have lost the file. The write will report that.
    return 0;
  }
}
