import type { Direction, Message } from "../message/message.ts";
import type { Turn } from "../session/turn.ts";
import type { ReportDetails } from "./report.ts";

/** What the log for people says of a message that did not pass. */
export function describeRefusal(turn: Turn, verdict: "deny" | "drop", rule: string): ReportDetails & { text: string } {
  const { message, opens } = turn;
  // The tool filter's daily work; all the rest is a peer that misbehaves.
  if (rule === "tools") {
    const tool = opens?.subject ?? null;
    if (tool === null) return { level: "info", text: "refused a call that names no tool" };
    return { level: "info", text: "refused a call of a tool that is hidden or unknown", fields: { tool: cut(tool) } };
  }
  const did = verdict === "deny" ? "refused" : "dropped";
  const begins = rule === "strict:not-json" ? readBanner(message) : null;
  if (begins === null) return { text: `${did} a message from the ${sender(message.direction)}` };
  const text = "dropped a line from the server that is no message: what it has to tell people belongs on stderr";
  return { text, fields: { begins } };
}

/** Who sends in this direction. */
export function sender(direction: Direction): "client" | "server" {
  return direction === "up" ? "client" : "server";
}

/**
 * The first words of a line that a server wrote for people, where messages belong: mostly a greeting,
 * or a log. Null for what looks like a message: what is in those is not for the log.
 */
function readBanner({ direction, bytes, start, end }: Message): string | null {
  if (direction === "up") return null;
  const text = bytes.toString("utf8", start, Math.min(end, start + MAX_BANNER_BYTES)).trimStart();
  return /^[[{]/.test(text) ? null : cut(text, MAX_BANNER_CHARACTERS);
}

const MAX_BANNER_BYTES = 200;
const MAX_BANNER_CHARACTERS = 40;
const MAX_NAME_CHARACTERS = 200;

function cut(text: string, maxCharacters = MAX_NAME_CHARACTERS): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}
