import type { Message } from "../../message/message.ts";

/**
 * The beginning of a line that a server wrote for people to stdout, usually a greeting or a log line. Null if it looks
 * like a message, because contents of messages must not be logged.
 */
export function readBanner({ direction, bytes, start, end }: Message): string | null {
  if (direction === "up") return null;
  const text = bytes.toString("utf8", start, Math.min(end, start + MAX_BYTES)).trim();
  if (text === "" || /^[[{]/.test(text)) return null;
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}

const MAX_BYTES = 200;
const MAX_CHARACTERS = 40;
