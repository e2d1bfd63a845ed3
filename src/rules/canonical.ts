import { createHash } from "node:crypto";
import { canonicalBytes } from "../message/canonical.ts";
import type { Span } from "../message/envelope.ts";
import { beginWork, spend, type Work } from "./work.ts";

/**
 * The canonical form of a value (RFC 8785): sorted members, no whitespace, one spelling for each string. A number keeps
 * its spelling where the canonical form would round it or make two numbers equal: not every server treats 1 and 1.0
 * alike, or 1e400 and null.
 */
export function canonicalize(bytes: Buffer, span: Span, work: Work = beginWork(), without: string[] = []): Buffer {
  // Every byte is written again.
  spend(work, span.end - span.start);
  return canonicalBytes(bytes, span, { without, numbers: "spelled", onWork: (steps) => spend(work, steps) });
}

/**
 * The SHA-256 of the canonical form of params without `_meta`, which belongs to the single request and not to what it
 * asks for.
 */
export function hashParams(bytes: Buffer, params: Span | null, work: Work = beginWork()): string {
  return sha256(params === null ? "{}" : canonicalize(bytes, params, work, ["_meta"]));
}

/** The SHA-256 of a text, in hexadecimal digits. */
export function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}
