import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { closeSync, fstatSync, mkdirSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { ProxyError } from "../../errors.ts";
import { sleep } from "./sleep.ts";

/** The keys derived from the secret of an audit log, one for each use. */
export interface AuditKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  readonly records: KeyObject;
  readonly heads: KeyObject;
}

/** Returns this many random bytes. */
export type Random = (bytes: number) => Buffer;

/** The path of the key: FAIRLEAD_AUDIT_KEY, or a file in the user's state folder. */
export function auditKeyFile(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  const chosen = env["FAIRLEAD_AUDIT_KEY"];
  if (chosen !== undefined && chosen !== "") return chosen;
  const state = env[platform === "win32" ? "LOCALAPPDATA" : "XDG_STATE_HOME"] ?? "";
  // The XDG base directory specification: a path that is not absolute must be ignored.
  const usual = platform === "win32" ? ["AppData", "Local"] : [".local", "state"];
  return join(isAbsolute(state) ? state : join(homedir(), ...usual), "fairlead", "audit.key");
}

/** Reads the key. Throws if it does not exist. */
export function readAuditKey(file: string, onExposed: (text: string) => void = () => {}): AuditKey {
  try {
    return deriveAuditKey(readSecret(file, onExposed));
  } catch (cause) {
    if (cause instanceof ProxyError) throw cause;
    const { code = String(cause) } = cause as NodeJS.ErrnoException;
    const remedy = `${file}: ${code}. Give the key the log was written with: --key <file>`;
    throw noKey("No key to verify with", remedy, cause);
  }
}

/** Reads the key, and creates it if it does not exist. */
export function ensureAuditKey(
  file: string,
  onExposed: (text: string) => void,
  random: Random = randomBytes,
): AuditKey {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    createSecret(file, random(SECRET_BYTES));
  } catch (cause) {
    const { code = String(cause) } = cause as NodeJS.ErrnoException;
    // The key exists, or another process has just created it. Then a read-only folder is not a problem either.
    if (code === "EEXIST" || isThere(file)) return readAuditKey(file, onExposed);
    const remedy = `${code}: name a file that can be written in FAIRLEAD_AUDIT_KEY`;
    throw noKey(`Cannot make the audit key ${file}`, remedy, cause);
  }
  return readAuditKey(file, onExposed);
}

/** Derives the keys from the secret. */
function deriveAuditKey(secret: Buffer): AuditKey {
  const derive = (use: string): Buffer => createHmac("sha256", secret).update(`fairlead audit 1 ${use}`).digest();
  return {
    id: derive("id").toString("hex").slice(0, 16),
    records: createSecretKey(derive("records")),
    heads: createSecretKey(derive("heads")),
  };
}

const SECRET_BYTES = 32;

/** How long another process may take to write the key after creating the file. */
const PATIENCE_MS = 1000;

function createSecret(file: string, secret: Buffer): void {
  // Exclusive: of two processes that start at once, one creates the key and the other reads it.
  const descriptor = openSync(file, "wx", 0o600);
  try {
    if (writeSync(descriptor, secret) === SECRET_BYTES) return;
    throw Object.assign(new Error("short write"), { code: "ENOSPC" });
  } catch (error) {
    unlinkSync(file);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function readSecret(file: string, onExposed: (text: string) => void): Buffer {
  const descriptor = openSync(file, "r");
  try {
    const { mode } = fstatSync(descriptor);
    if ((mode & 0o077) !== 0 && process.platform !== "win32") {
      onExposed(`others may read the audit key ${file}: chmod 600 it, and treat the key as compromised`);
    }
    const bytes = Buffer.alloc(SECRET_BYTES + 1);
    for (let waited = 0; ; waited += 5) {
      const length = readSync(descriptor, bytes, 0, bytes.length, 0);
      if (length === SECRET_BYTES) return bytes.subarray(0, length);
      if (length > SECRET_BYTES || waited >= PATIENCE_MS) break;
      sleep(5);
    }
  } finally {
    closeSync(descriptor);
  }
  const remedy =
    "Restore it from a copy: what was written with it cannot be verified without it. FAIRLEAD_AUDIT_KEY names another file";
  throw noKey(`The audit key ${file} does not have ${SECRET_BYTES} bytes`, remedy);
}

function isThere(file: string): boolean {
  try {
    closeSync(openSync(file, "r"));
    return true;
  } catch {
    return false;
  }
}

function noKey(message: string, remedy: string, cause?: unknown): ProxyError {
  return new ProxyError("NO_AUDIT_KEY", message, remedy, { cause });
}
