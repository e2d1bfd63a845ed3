import type { Message } from "../../message/message.ts";

/**
 * The first words of a line that a server wrote for people, where messages belong: mostly a greeting,
 * or a log. Null for what looks like a message: what is in those is not for the log.
 */
export function readBanner({ direction, bytes, start, end }: Message): string | null {
  if (direction === "up") return null;
  const text = bytes.toString("utf8", start, Math.min(end, start + MAX_BYTES)).trim();
  if (text === "" || /^[[{]/.test(text)) return null;
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}

const MAX_BYTES = 200;
const MAX_CHARACTERS = 40;
