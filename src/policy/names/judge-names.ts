import type { WireError } from "../../message/compose.ts";
import type { NotificationEnvelope, RequestEnvelope, ResultEnvelope, Span } from "../../message/envelope.ts";
import type { Message } from "../../message/message.ts";
import { showText } from "../../message/text.ts";
import { eraOf } from "../../session/era.ts";
import type { Turn } from "../../session/turn.ts";
import { type Decision, PASS } from "../verdict.ts";
import { type Kind, kindsOf, LISTS, readList, readSubjects, type Subject } from "./asked.ts";
import { findHiddenLinks, type LinkSetting } from "./links.ts";
import type { NameFilter } from "./name-filter.ts";

/** The filters for prompts and resources. Null for a kind that is not filtered. */
export interface NameFilters extends Readonly<Record<Kind, NameFilter | null>> {
  /** What happens to links to hidden resources in results. They are kept by default. */
  readonly links?: LinkSetting;
}

/**
 * Applies the filters: a hidden prompt or resource is not listed, and requests for it are answered like an unknown one.
 */
export function judgeNames(filters: NameFilters, turn: Turn): Decision {
  const { message, answers } = turn;
  const { envelope } = message;
  switch (envelope.kind) {
    case "request":
      return judgeRequest(filters, message, envelope);
    case "notification": {
      const decision = judgeUpdate(filters, message, envelope);
      return decision === PASS ? judgeLinks(filters, message, envelope.method.name, envelope.params) : decision;
    }
    case "result": {
      if (answers === undefined) return PASS;
      const { name } = answers.method;
      const decision = judgeList(filters, message, envelope, name);
      return decision === PASS ? judgeLinks(filters, message, name, envelope.result) : decision;
    }
    case "error":
    case "batch":
    case "opaque":
      return PASS;
  }
}

function judgeRequest(filters: NameFilters, message: Message, envelope: RequestEnvelope): Decision {
  if (kindsOf(envelope.method.name).every((kind) => filters[kind] === null)) return PASS;
  const subjects = readSubjects(message.bytes, envelope.method.name, envelope.params);
  if (subjects === "unreadable") return UNREADABLE;
  for (const subject of subjects) {
    const filter = filters[subject.kind];
    if (filter === null) continue;
    if (subject.text === null) return UNREADABLE;
    if (filter.hiddenBy([subject.text])[0] === null) continue;
    return {
      verdict: { do: "deny", error: notFound(subject, message, envelope) },
      rule: subject.kind,
      about: subject.text,
    };
  }
  return PASS;
}

/** The error of a server that does not have the prompt or resource. */
function notFound({ kind, text }: Subject, { bytes }: Message, { params }: RequestEnvelope): WireError {
  if (kind === "prompts") return { code: -32602, message: `Prompt not found: ${showText(text ?? "", 256)}` };
  // Revision 2026-07-28 has no separate code for this any more.
  const code = eraOf(bytes, params) === "stateless" ? -32602 : -32002;
  return { code, message: "Resource not found", data: { uri: showText(text ?? "", MAX_SHOWN_CHARACTERS) } };
}

const MAX_SHOWN_CHARACTERS = 2048;

/** Drops update notifications for hidden resources. */
function judgeUpdate({ resources }: NameFilters, { bytes }: Message, envelope: NotificationEnvelope): Decision {
  if (resources === null || envelope.method.name !== "notifications/resources/updated") return PASS;
  const subjects = readSubjects(bytes, envelope.method.name, envelope.params);
  const text = subjects === "unreadable" ? null : (subjects[0]?.text ?? null);
  if (text !== null && resources.hiddenBy([text])[0] === null) return PASS;
  return { verdict: { do: "drop" }, rule: "resources", ...(text === null ? {} : { about: text }) };
}

function judgeList(filters: NameFilters, { bytes }: Message, { result }: ResultEnvelope, method: string): Decision {
  const list = LISTS.get(method);
  if (list === undefined) return PASS;
  const filter = filters[list.kind];
  if (filter === null) return PASS;
  const entries = readList(bytes, result, list);
  if (entries === null) return { verdict: { do: "deny", error: NO_LIST }, rule: `${list.kind}:unreadable-list` };
  const fates = filter.hiddenBy(entries.map(({ text }) => text ?? ""));
  const hidden = new Set(entries.flatMap(({ text }, index) => (text === null || fates[index] !== null ? [index] : [])));
  if (hidden.size === 0) return PASS;
  return { verdict: { do: "hide", elements: entries.map(({ span }) => span), hidden }, rule: list.kind };
}

/** Judges links to hidden resources in the results of tools, prompts and tasks. */
function judgeLinks(
  { resources, links = "keep" }: NameFilters,
  { bytes }: Message,
  method: string,
  value: Span | null,
): Decision {
  if (links === "keep" || resources === null || value === null || !WITH_LINKS.has(method)) return PASS;
  const found = findHiddenLinks(bytes, value, resources);
  if (found === null) return PASS;
  if (found === "unreadable") return { verdict: { do: "deny", error: NO_LIST }, rule: "resources:unreadable-list" };
  const { edits, first } = found;
  if (links === "cut") return { verdict: { do: "edit", edits }, rule: "resources", about: first };
  return { verdict: { do: "deny", error: LINKED }, rule: "resources", about: first };
}

/** The methods whose results or params contain content. */
const WITH_LINKS = new Set([
  "tools/call",
  "prompts/get",
  "tasks/result",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "notifications/tasks",
  "notifications/tasks/status",
]);

const LINKED: WireError = {
  code: -32001,
  message: "Blocked by policy: the result has a link to a resource that is hidden",
  data: { rule: "resources.links", action: "block" },
};

const NO_LIST = { code: -32000, message: "Invalid response" };

/** The decision about a request whose subject peers may read differently. */
const UNREADABLE: Decision = {
  verdict: { do: "deny", error: { code: -32602, message: "Invalid params: the name or URI is missing or ambiguous" } },
  rule: "names:unreadable",
};
