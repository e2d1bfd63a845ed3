import type { Span } from "./envelope.ts";
import { findMember, readString } from "./members.ts";
import type { Message } from "./message.ts";
import { showText } from "./text.ts";

/** Longer error messages of a peer are cut before people see them. */
const MAX_SHOWN_CHARACTERS = 200;

/** Code and text of a peer's error response, on one line, for people and logs. Null if the message is not an error. */
export function describeError({ bytes, envelope }: Message): string | null {
  if (envelope.kind !== "error") return null;
  const code = findMember(bytes, envelope.error, "code");
  const text = readString(bytes, findMember(bytes, envelope.error, "message"));
  const shown = text === null ? "" : `: ${showText(text.trim(), MAX_SHOWN_CHARACTERS)}`;
  return `error ${code === null ? "without a code" : showSpan(bytes, code)}${shown}`;
}

function showSpan(bytes: Buffer, { start, end }: Span): string {
  return showText(bytes.toString("utf8", start, Math.min(end, start + MAX_CODE_BYTES)));
}

const MAX_CODE_BYTES = 20;
