import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ProxyError } from "../errors.ts";

/** The tokens of a login. */
export interface Grant {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** Milliseconds since 1970; null if not known. */
  readonly expiresAt: number | null;
  /** The scopes that were granted, as far as the issuer said. */
  readonly scopes: readonly string[];
  /** The scopes that were requested. */
  readonly asked: readonly string[];
  readonly by: "login" | "refresh";
  readonly at: number;
}

/** Our client registration with an issuer. */
export interface StoredClient {
  readonly id: string;
  readonly secret: string | null;
  readonly method: "basic" | "post";
  /** The redirect URI that it was registered with; null for a client that was registered by hand. */
  readonly redirectUri: string | null;
  /** The scopes it was registered for. */
  readonly scopes: readonly string[];
  readonly expiresAt: number | null;
}

/** A stored login. It is valid only for this server and this issuer. */
export interface Memory {
  readonly server: string;
  readonly issuer: string;
  readonly isGuessed: boolean;
  readonly resource: string | null;
  readonly client: StoredClient;
  readonly grant: Grant | null;
}

/** Keeps the login of one server in a file that only its owner can read. */
export interface Store {
  /** The lock file that a process holds while it changes the login. */
  readonly lockFile: string;
  /** Null if the user has not logged in, or if the file is not one of ours. */
  read(): Memory | null;
  write(memory: Memory): void;
}

/** Opens the store of a server. Throws a ProxyError if the directory cannot be used. */
export function openStore(directory: string, server: string): Store {
  const name = createHash("sha256").update(server).digest("hex").slice(0, 32);
  const file = join(directory, `${name}.json`);
  prepare(directory);
  return {
    lockFile: join(directory, `${name}.lock`),
    read() {
      const memory = parse(readOwn(file));
      return memory?.server === server ? memory : null;
    },
    write(memory) {
      const next = `${file}.${randomBytes(6).toString("hex")}`;
      try {
        writeFileSync(next, `${JSON.stringify({ version: 1, ...memory }, null, 2)}\n`, { mode: 0o600, flag: "wx" });
        // A rename is atomic: a reader sees the old file or the new one, never a part.
        renameSync(next, file);
      } catch (cause) {
        discard(next);
        throw notWritable(directory, (cause as NodeJS.ErrnoException).code ?? "it cannot be written");
      }
    },
  };
}

function prepare(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw notWritable(directory, (cause as NodeJS.ErrnoException).code ?? "it cannot be made");
  }
  // Whoever can replace the file could make the proxy use a token of theirs.
  if (process.platform !== "win32" && (statSync(directory).mode & 0o022) !== 0) {
    throw notWritable(directory, "others may write to it: chmod 700 it");
  }
}

/** The text of a file that belongs to the user, else an empty string. */
function readOwn(file: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return "";
  }
  try {
    const stats = fstatSync(descriptor);
    const isOurs = process.getuid === undefined || stats.uid === process.getuid();
    return stats.isFile() && isOurs && stats.size <= MAX_FILE_BYTES ? readFileSync(descriptor, "utf8") : "";
  } catch {
    return "";
  } finally {
    closeSync(descriptor);
  }
}

const MAX_FILE_BYTES = 1_048_576;

function parse(text: string): Memory | null {
  try {
    const { version, ...memory } = JSON.parse(text) as Memory & { version: unknown };
    const { grant, client } = memory;
    const isWhole =
      version === 1 &&
      typeof memory.issuer === "string" &&
      typeof client.id === "string" &&
      Array.isArray(client.scopes) &&
      (grant === null ||
        (typeof grant.accessToken === "string" && typeof grant.at === "number" && Array.isArray(grant.asked)));
    return isWhole ? memory : null;
  } catch {
    return null;
  }
}

function discard(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // The file was never created.
  }
}

function notWritable(directory: string, reason: string): ProxyError {
  return new ProxyError("FILE_NOT_WRITABLE", `Cannot keep logins in ${directory}`, reason);
}
