import type { Direction } from "../../message/message.ts";
import type { Turn } from "../../session/turn.ts";
import { readBanner } from "./banner.ts";
import type { ReportDetails } from "./report.ts";

/** The log line for a message that was refused or dropped. */
export function describeRefusal(
  turn: Turn,
  verdict: "deny" | "drop",
  rule: string,
  about: string | null = null,
  why: string | null = null,
): ReportDetails & { text: string } {
  const { message, opens } = turn;
  // A refusal by the tool filter is routine; the other rules indicate a peer that misbehaves.
  if (rule === "tools") {
    const tool = opens?.subject ?? null;
    if (tool === null) return { level: "info", text: "refused a call that names no tool" };
    return { level: "info", text: "refused a call of a tool that is hidden or unknown", fields: { tool: cut(tool) } };
  }
  if (rule === "tools:pin") {
    const text = 'refused a call of a tool that is not as it was accepted: see "fairlead tools --accept"';
    return { text, fields: { tool: cut(opens?.subject ?? "") } };
  }
  if ((rule === "prompts" || rule === "resources") && about !== null) {
    const what = rule === "prompts" ? "prompt" : "resource";
    const text =
      verdict === "deny" ? `refused a ${what} that is hidden` : `dropped a notification about a ${what} that is hidden`;
    return { level: "info", text, fields: { [what]: cut(about) } };
  }
  if (rule.startsWith("validate:") && turn.answers !== undefined) {
    const { method, subject } = turn.answers;
    const text = "replaced a response from the server by an error: the response does not have the required form";
    const fields = { method: method.name, ...(subject === null ? {} : { about: cut(subject) }), why };
    return { text, fields };
  }
  const did = verdict === "deny" ? "refused" : "dropped";
  // Refusals by the policy are routine too.
  if (OF_THE_POLICY.test(rule)) {
    const call = turn.answers ?? opens;
    const { envelope } = message;
    const method = call?.method.name ?? ("method" in envelope ? envelope.method.name : null);
    const fields = {
      ...(method === null ? {} : { method }),
      ...(call?.subject == null ? {} : { about: cut(call.subject) }),
    };
    return { level: "info", text: `${did} ${NOUNS[envelope.kind]} from the ${sender(message.direction)}`, fields };
  }
  const begins = rule === "strict:not-json" ? readBanner(message) : null;
  if (begins === null) return { text: `${did} a message from the ${sender(message.direction)}` };
  const text = "dropped a line from the server that is not a message: servers must write log output to stderr";
  return { text, fields: { begins } };
}

const OF_THE_POLICY = /^(?:rule|interceptor|chain):/;

const NOUNS: Record<Turn["message"]["envelope"]["kind"], string> = {
  request: "a request",
  notification: "a notification",
  result: "an answer",
  error: "an answer",
  batch: "a batch",
  opaque: "a message",
};

/** The sender of messages in this direction. */
export function sender(direction: Direction): "client" | "server" {
  return direction === "up" ? "client" : "server";
}

const MAX_NAME_CHARACTERS = 200;

function cut(name: string): string {
  return name.length > MAX_NAME_CHARACTERS ? `${name.slice(0, MAX_NAME_CHARACTERS)}…` : name;
}
