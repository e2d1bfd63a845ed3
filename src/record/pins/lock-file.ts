import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { ProxyError } from "../../errors.ts";
import type { Pin, Pins } from "../../policy/pins.ts";
import { whole } from "../../message/message.ts";
import { scan } from "../../message/scan.ts";
import { realPath } from "../audit/file.ts";
import { takeLock } from "../file-lock.ts";

/** The file with the pinned definitions of tools, of one server or of several. */
export interface LockFile {
  /** The pins of a server; null if it has none. Throws a ProxyError if the file is damaged. */
  read(server: string): Pins | null;
  /** Changes when the file does; null if there is no file. */
  stamp(): string | null;
  /** Changes the pins of a server. Other processes may write at the same time: their pins are kept. */
  update(server: string, change: (pins: Pins | null) => Pins): Promise<void>;
}

/** Opens the file. It is created when something is first pinned. */
export function openLockFile(path: string): LockFile {
  return {
    read: (server) => readServers(path).get(server) ?? null,
    stamp() {
      try {
        const { ino, size, mtimeMs } = statSync(path);
        return `${ino}/${size}/${mtimeMs}`;
      } catch {
        return null;
      }
    },
    async update(server, change) {
      // Follow a symbolic link, so that its target is written and the link stays.
      const file = realPath(path);
      const busy = `${file}.busy`;
      const release = await takeLock(busy, { timeoutMs: MAX_WAIT_MS }).catch((cause: unknown) => {
        throw notWritable(path, cause);
      });
      if (release === null)
        throw notWritable(path, new Error(`${busy} exists: another process is using the lock file`));
      try {
        // Read only now, because another process may have written before.
        const servers = readServers(path);
        servers.set(server, change(servers.get(server) ?? null));
        write(path, file, servers);
      } finally {
        release();
      }
    },
  };
}

type Servers = Map<string, Pins>;

/** How long to wait for other writers. */
const MAX_WAIT_MS = 10_000;
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const HASH = /^sha256:[0-9a-f]{64}$/;

function readServers(path: string): Servers {
  const text = readText(path);
  if (text === null) return new Map();
  // Strict parsing: a duplicate name, for example after a merge, has two meanings.
  if (scan(whole(Buffer.from(text))).fault !== null) throw damaged(path, "it is not valid JSON, or is ambiguous");
  const value: unknown = JSON.parse(text);
  if (!isObject(value) || !isObject(value["servers"])) throw damaged(path, "it has no servers");
  if (value["version"] !== 1) throw damaged(path, "its version is not 1");
  return new Map(
    Object.entries(value["servers"]).map(([server, entry]) => {
      if (!isObject(entry) || !isObject(entry["tools"])) throw damaged(path, "a server in it has no tools");
      const pins = Object.entries(entry["tools"]).map(([name, pin]): [string, Pin] => {
        if (!isPin(pin)) throw damaged(path, "a tool in it has no hash");
        return [name, pin];
      });
      return [server, new Map(pins)];
    }),
  );
}

function isPin(value: unknown): value is Pin {
  const hashes: unknown[] = Array.isArray(value) ? value : [value];
  return hashes.length > 0 && hashes.every((hash) => typeof hash === "string" && HASH.test(hash));
}

/** The text of the file; null if it does not exist. A file that cannot be read is an error. */
function readText(path: string): string | null {
  let descriptor: number;
  try {
    // A pipe in its place must not block.
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new ProxyError("FILE_NOT_READABLE", `Cannot read ${path}`, `${code}: check its permissions`, { cause });
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES)
      throw damaged(path, "it is too large, or is not a regular file");
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function write(path: string, file: string, servers: Servers): void {
  // We hold the lock: an existing file of this name was left by a process that was killed.
  const next = `${file}.next`;
  try {
    rmSync(next, { force: true });
    const descriptor = openSync(next, "wx", 0o600);
    try {
      writeFileSync(descriptor, encode(servers));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    // A rename is atomic: a reader sees the old file or the new one, never a part.
    renameSync(next, file);
  } catch (cause) {
    rmSync(next, { force: true });
    throw notWritable(path, cause);
  }
}

/** Sorted and one tool per line, so that changes are easy to see in a diff. */
function encode(servers: Servers): string {
  const entries = sorted(servers).map(([server, pins]): [string, object] => [
    server,
    { tools: Object.fromEntries(sorted(pins)) },
  ]);
  return `${JSON.stringify({ version: 1, servers: Object.fromEntries(entries) }, null, 2)}\n`;
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function damaged(path: string, why: string): ProxyError {
  const remedy = `${why}: restore it, or delete it and accept the tools anew`;
  return new ProxyError("BAD_LOCK_FILE", `Not a lock file: ${path}`, remedy);
}

function notWritable(path: string, cause: unknown): ProxyError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new ProxyError("FILE_NOT_WRITABLE", `Cannot write to ${path}`, code ?? message, { cause });
}
