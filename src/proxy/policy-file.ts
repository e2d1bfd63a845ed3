import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ProxyError } from "../errors.ts";
import { composeMistakes } from "../config/compose-mistakes.ts";
import { decodePolicy } from "../config/decode.ts";
import type { Facts } from "../config/facts.ts";
import type { Mistake } from "../config/mistake.ts";
import type { Engines, Environment } from "../config/page.ts";
import { placePaths } from "../config/place-paths.ts";
import { MAX_POLICY_CHARACTERS, type ReadPolicy, readPolicy } from "../config/read-policy.ts";
import type { PolicySettings } from "../config/settings.ts";
import { showText } from "../message/text.ts";

/** A policy file without mistakes. */
export interface LoadedPolicy {
  /** The name of the file in messages. */
  readonly file: string;
  /** The folder of the file. Relative paths in the file were resolved against it: in `settings` they are absolute. */
  readonly folder: string;
  readonly settings: PolicySettings;
  readonly warnings: readonly Mistake[];
}

/** Loads a policy file. Rejects with a ProxyError that lists all mistakes with their places. */
export async function loadPolicyFile(file: string, env: Environment): Promise<LoadedPolicy> {
  const { policy, mistakes, warnings } = await inspectPolicyFile(file, env);
  if (policy === null) throw badPolicy(file, mistakes);
  const folder = dirname(resolve(file));
  return { file, folder, settings: placePaths(policy, folder), warnings };
}

/** Reads a policy file and reports its mistakes. Rejects only if the file cannot be read. */
export async function inspectPolicyFile(
  file: string,
  env: Environment,
  known: Pick<Facts, "tools"> = {},
): Promise<ReadPolicy> {
  const text = decodePolicy(readBytes(file), file);
  if (typeof text !== "string") return { policy: null, mistakes: [text], warnings: [] };
  return readWithEngines(text, { file, env, facts: { ...known, ...(await gatherFacts(text, file)) } });
}

/**
 * The facts that mistakes depend on, such as existing files. The check for webhooks is loaded only if the text mentions
 * them.
 */
async function gatherFacts(text: string, file: string): Promise<Facts> {
  const folder = dirname(resolve(file));
  const hasFile = (path: string): boolean => existsSync(resolve(folder, path));
  if (!text.includes("webhook")) return { hasFile };
  const { refuseWebhook } = await import("../link/webhook.ts");
  return { hasFile, webhook: (url, allowPrivate) => refuseWebhook({ url, allowPrivate }, process.env) };
}

/**
 * Engines take longer to load than most files to read, so only those that the text mentions are loaded. If one was
 * missed, because a key is written in an unusual way, the file is read again with it.
 */
async function readWithEngines(
  text: string,
  about: { readonly file: string; readonly env: Environment; readonly facts: Facts },
): Promise<ReadPolicy> {
  let wanted: Wanted = { pattern: /matches|patterns/.test(text), expressions: /\bcel\b/.test(text) ? [text] : [] };
  for (;;) {
    const missing = { pattern: false, expressions: [] as string[] };
    const engines = await loadEngines(wanted, missing);
    const read = readPolicy(text, { ...about, engines });
    if (!missing.pattern && missing.expressions.length === 0) return read;
    wanted = {
      pattern: wanted.pattern || missing.pattern,
      expressions: [...wanted.expressions, ...missing.expressions],
    };
  }
}

/** The engines to load: for patterns, and for expressions or the text that contains them. */
interface Wanted {
  readonly pattern: boolean;
  readonly expressions: readonly string[];
}

/** Loads the engines. Uses of an engine that is not loaded are recorded in `missing`. */
async function loadEngines(
  { pattern, expressions }: Wanted,
  missing: { pattern: boolean; readonly expressions: string[] },
): Promise<Engines> {
  const compile = pattern ? await (await import("../rules/patterns.ts")).loadPatterns() : null;
  const cel = expressions.length === 0 ? null : await (await import("../rules/cel.ts")).loadCel(expressions);
  const knowsMatches = expressions.some((text) => text.includes("matches"));
  return {
    pattern(source) {
      if (compile !== null) return compile(source);
      missing.pattern = true;
      return { source, test: () => false };
    },
    cel(expression) {
      if (cel !== null && (knowsMatches || !expression.includes("matches"))) return cel(expression);
      missing.expressions.push(expression);
      return {};
    },
  };
}

/** The bytes of the file, up to just above the size limit. It may also be a pipe. */
function readBytes(file: string): Buffer {
  try {
    const descriptor = openSync(file, "r");
    try {
      const pieces: Buffer[] = [];
      for (let left = MAX_POLICY_BYTES; left > 0;) {
        const piece = Buffer.allocUnsafe(Math.min(left, 65_536));
        const count = readSync(descriptor, piece);
        if (count === 0) break;
        pieces.push(piece.subarray(0, count));
        left -= count;
      }
      return Buffer.concat(pieces);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    const { code = "it cannot be read" } = cause as NodeJS.ErrnoException;
    const remedy = `${WHY[code] ?? code}: check the path and its permissions`;
    throw new ProxyError("FILE_NOT_READABLE", `Cannot read the policy file ${showText(file)}`, remedy, { cause });
  }
}

const WHY: Record<string, string | undefined> = {
  ENOENT: "There is no such file",
  EISDIR: "It is a directory",
  EACCES: "You may not read it",
};

/** A character is at most three bytes; one that counts as two is four bytes. */
const MAX_POLICY_BYTES = 3 * (MAX_POLICY_CHARACTERS + 1);

function badPolicy(file: string, mistakes: readonly Mistake[]): ProxyError {
  const count = mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`;
  const message = `${showText(file)} has ${count}\n\n${composeMistakes(mistakes, "text")}`;
  return new ProxyError("BAD_POLICY", message, "Nothing was started: without a valid policy nothing is let through");
}
