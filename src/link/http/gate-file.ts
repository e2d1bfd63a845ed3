import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { ProxyError } from "../../errors.ts";
import type { NamedToken } from "./gate-tokens.ts";

/**
 * Reads a file of tokens: a name and a token per line, and comments after `#`. Error messages never contain a token.
 */
export function readTokenFile(file: string): NamedToken[] {
  const tokens: NamedToken[] = [];
  for (const [index, line] of readSecret(file).split("\n").entries()) {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) continue;
    const bad = (reason: string, remedy: string): ProxyError =>
      new ProxyError("BAD_TOKENS", `${file}, line ${index + 1}: ${reason}`, remedy);
    const [name, token, ...rest] = text.split(/[ \t]+/);
    if (token === undefined || rest.length > 0) throw bad("the line is not a name and a token", "Write: name token");
    if (!NAME.test(name)) throw bad("the name is not valid", "Use letters, digits and . _ @ -, at most 64");
    if (!TOKEN.test(token))
      throw bad("the token has characters that a header cannot carry", "Use letters, digits and - . _ ~ + /");
    if (token.length < MIN_TOKEN) throw bad("the token is too short", `Use at least ${MIN_TOKEN} random characters`);
    if (tokens.some((other) => other.name === name))
      throw bad("the name is used twice", "Give each token its own name");
    if (tokens.some((other) => other.token === token))
      throw bad("the token is used twice", "Give each name its own token");
    tokens.push({ name, token });
  }
  if (tokens.length > 0) return tokens;
  throw new ProxyError("BAD_TOKENS", `${file} has no tokens`, "Write one on each line: name token");
}

const NAME = /^[\w.@-]{1,64}$/;
const TOKEN = /^[\w.~+/-]+=*$/;
const MIN_TOKEN = 16;
const MAX_FILE_BYTES = 1_048_576;

function readSecret(file: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (cause) {
    throw notReadable(file, (cause as NodeJS.ErrnoException).code, cause);
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) throw notReadable(file, "it is not a file, or is too large");
    if (process.platform !== "win32" && (stats.mode & 0o077) !== 0) {
      throw new ProxyError(
        "BAD_TOKENS",
        `Others may read the tokens in ${file}`,
        "chmod 600 it, and change the tokens",
      );
    }
    return readFileSync(descriptor, "utf8").replace(/^\uFEFF/, "");
  } finally {
    closeSync(descriptor);
  }
}

function notReadable(file: string, reason = "it cannot be opened", cause?: unknown): ProxyError {
  const remedy = `${reason}: check the path and its permissions`;
  return new ProxyError("FILE_NOT_READABLE", `Cannot read ${file}`, remedy, { cause });
}
