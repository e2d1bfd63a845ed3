import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { ProxyError } from "../../errors.ts";
import { LF } from "../../message/characters.ts";

/** A line without its newline. */
export interface Line {
  /** Valid until the next line is read. Null if the line is too long to be a record. */
  readonly text: Buffer | null;
  readonly bytes: number;
  /** Whether it ends with a newline. Only the last line may have none. */
  readonly isFinished: boolean;
}

/** Reads the lines of a file up to its current size, in chunks. */
export function readLines(file: string, take: (line: Line) => void): void {
  const descriptor = open(file);
  try {
    cut(descriptor, fstatSync(descriptor).size, take);
  } catch (cause) {
    throw notReadable(file, cause);
  } finally {
    closeSync(descriptor);
  }
}

/** Longer than any record. */
const MAX_LINE_BYTES = 1024 * 1024;

function cut(descriptor: number, end: number, take: (line: Line) => void): void {
  const buffer = Buffer.allocUnsafe(MAX_LINE_BYTES);
  let held = 0; // bytes of an unfinished line, at the start of the buffer
  let skipped = 0; // bytes of it that did not fit
  for (let position = 0; position < end;) {
    const count = readSync(descriptor, buffer, held, Math.min(buffer.length - held, end - position), position);
    if (count === 0) break;
    position += count;
    const bytes = buffer.subarray(0, held + count);
    let start = 0;
    for (let newline = bytes.indexOf(LF, held); newline >= 0; newline = bytes.indexOf(LF, start)) {
      const text = skipped > 0 ? null : bytes.subarray(start, newline);
      take({ text, bytes: skipped + newline - start, isFinished: true });
      skipped = 0;
      start = newline + 1;
    }
    held = bytes.length - start;
    if (held === buffer.length) {
      skipped += held;
      held = 0;
    } else buffer.copyWithin(0, start, bytes.length);
  }
  const rest = skipped + held;
  if (rest > 0) take({ text: skipped > 0 ? null : buffer.subarray(0, held), bytes: rest, isFinished: false });
}

function open(file: string): number {
  try {
    const descriptor = openSync(file, "r");
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
  } catch (cause) {
    throw notReadable(file, cause);
  }
  throw notReadable(file, { code: "it is not a regular file" });
}

function notReadable(file: string, cause: unknown): ProxyError {
  const { code = String(cause) } = cause as NodeJS.ErrnoException;
  return new ProxyError("FILE_NOT_READABLE", `Cannot read ${file}`, `${code}: check the path and its permissions`, {
    cause,
  });
}
