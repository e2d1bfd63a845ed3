import { createHash } from "node:crypto";
import { canonicalBytes } from "../../message/canonical.ts";
import type { Span } from "../../message/envelope.ts";
import { beginWork, spend, type Work } from "./work.ts";

/**
 * The canonical form of a value (RFC 8785): members in order, no space, one spelling for each text.
 * Numbers stay as they are spelled where the canonical form would round them or take one for
 * another: 1 and 1.0 are not the same to every server, nor are 1e400 and null.
 */
export function canonicalize(bytes: Buffer, span: Span, work: Work = beginWork(), without: string[] = []): Buffer {
  // It writes every byte anew.
  spend(work, span.end - span.start);
  return canonicalBytes(bytes, span, { without, numbers: "spelled", onWork: (steps) => spend(work, steps) });
}

/** The SHA-256 of the canonical form of params, without what belongs to the request and not to what it asks. */
export function hashParams(bytes: Buffer, params: Span | null, work: Work = beginWork()): string {
  return sha256(params === null ? "{}" : canonicalize(bytes, params, work, ["_meta"]));
}

/** The SHA-256 of a text, in hexadecimal digits. */
export function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}
