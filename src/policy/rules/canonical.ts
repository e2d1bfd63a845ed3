import { createHash } from "node:crypto";
import type { Span } from "../../message/envelope.ts";
import { eachElement, eachMember } from "../../message/members.ts";
import { kindAt, textAt } from "./fields.ts";

/**
 * The canonical form of a value (RFC 8785): members in order, no space, one spelling for each text.
 * Numbers stay as they are spelled where the canonical form would round them or take one for
 * another: 1 and 1.0 are not the same to every server, nor are 1e400 and null.
 */
export function canonicalize(bytes: Buffer, span: Span, without: string | null = null): string {
  switch (kindAt(bytes, span.start)) {
    case "object": {
      const members: [string, Span][] = [];
      eachMember(bytes, span, (key, value) => {
        if (key !== without) members.push([key, value]);
      });
      members.sort(([one], [other]) => (one < other ? -1 : 1));
      return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${canonicalize(bytes, value)}`).join(",")}}`;
    }
    case "array": {
      const elements: string[] = [];
      eachElement(bytes, span, (start, end) => elements.push(canonicalize(bytes, { start, end })) > 0);
      return `[${elements.join(",")}]`;
    }
    case "string":
      return JSON.stringify(textAt(bytes, span));
    case "number":
    case "boolean":
    case "null":
      return bytes.toString("latin1", span.start, span.end);
  }
}

/** The SHA-256 of the canonical form of params, without what belongs to the request and not to what it asks. */
export function hashParams(bytes: Buffer, params: Span | null): string {
  return sha256(params === null ? "{}" : canonicalize(bytes, params, "_meta"));
}

/** The SHA-256 of a text, in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
