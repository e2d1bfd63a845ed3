import { randomBytes } from "node:crypto";
import type { AuditField } from "./fields.ts";
import { describeAuthor } from "./author.ts";
import { type AuditLimits, createBacklog } from "./backlog.ts";
import { createBatcher } from "./batch.ts";
import { createChain } from "./chain.ts";
import { type AuditFile, openAuditFile } from "./file.ts";
import { createHead, headFolder, type HeadFile, readHeads, removeHeads } from "./head.ts";
import { auditKeyFile, ensureAuditKey, type Random } from "./key.ts";
import type { Seal } from "./line.ts";
import { type AuditLog, createAuditWriter } from "./writer.ts";

/** Options of an audit log. */
export interface AuditOptions {
  readonly file: string;
  /** The file of the key. It is created on first use. */
  readonly keyFile?: string;
  /** Shows a warning to the user. */
  readonly warn: (text: string) => void;
  readonly limits?: Partial<AuditLimits>;
  /** The optional fields of records; all of them by default. */
  readonly fields?: ReadonlySet<AuditField> | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly random?: Random;
  readonly openFile?: (file: string, warn: (text: string) => void) => AuditFile;
}

/** Opens an audit log. Throws a ProxyError if the file cannot be written, or if there is no key. */
export function openAudit(options: AuditOptions): AuditLog {
  const { warn, now = Date.now, random = randomBytes, openFile = openAuditFile } = options;
  const keyFile = options.keyFile ?? auditKeyFile(process.env);
  const key = ensureAuditKey(keyFile, warn, random);
  const file = openFile(options.file, warn);
  const folder = headFolder(keyFile, key, file.path);
  // The chains of writers that have ended. It does no harm if one only seems to have ended: a seal says how far it came
  // at least.
  const ended = readHeads(folder, key, now())
    .heads.filter(({ isLive }) => !isLive)
    .slice(0, MAX_SEALS);
  const seals = ended.filter(({ seq }) => seq >= 0).map(({ log, seq, mac }): Seal => [log, seq, mac]);
  const chain = createChain(key.records, random(12).toString("base64url"));
  let head: HeadFile | null = null;
  try {
    head = createHead(folder, key, chain.log, describeAuthor());
  } catch (error) {
    warn(`records that are cut from the end of the audit log will not be noticed: ${(error as Error).message}`);
  }
  return createAuditWriter({
    file,
    chain,
    batcher: createBatcher({
      chain,
      opening: { key: key.id, seals },
      fields: options.fields,
      unfinished: () => file.unfinished,
      now,
    }),
    backlog: createBacklog({ ...DEFAULT_LIMITS, ...options.limits }),
    head,
    onOpened: () => removeHeads(ended),
    warn,
    now,
  });
}

const DEFAULT_LIMITS: AuditLimits = { maxBacklogEvents: 20_000, maxBacklogBytes: 16 * 1024 * 1024 };

/** How many seals one opening record may contain. The others wait for the next one. */
const MAX_SEALS = 256;
