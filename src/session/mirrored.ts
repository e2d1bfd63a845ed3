import type { NotificationEnvelope, RequestEnvelope, Span } from "../message/envelope.ts";
import { readString } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import { readText } from "../message/text.ts";
import { isStatelessRevision, NAMED_IN_HEADER } from "../message/protocol.ts";
import type { Mirrored } from "./exchange.ts";
import { decodeHeader } from "./header-text.ts";
import type { Catalogue } from "./catalogue.ts";
import { callAgrees } from "./param-headers.ts";
import type { TurnDraft } from "./turn.ts";

/**
 * Whether the headers of a request say something else than its body. Whoever routes or filters by the
 * headers must not see another message than the server does. `claim` is where the body says its
 * revision; `known` has the tools that are known.
 */
export function disagrees(
  { message, exchange: { mirrored } }: TurnDraft,
  envelope: RequestEnvelope | NotificationEnvelope,
  claim: Span | null,
  known: Pick<Catalogue, "tools">,
): boolean {
  if (mirrored === null) return false;
  if (!agrees(message, envelope, mirrored, claim)) return true;
  return claim !== null && envelope.kind === "request" && !callAgrees(message, envelope, mirrored.params, known.tools);
}

function agrees(
  { bytes }: Message,
  envelope: RequestEnvelope | NotificationEnvelope,
  { version, method, name }: Mirrored,
  claim: Span | null,
): boolean {
  if (method !== null && method !== envelope.method.name) return false;
  const subject = "subject" in envelope ? envelope.subject : null;
  if (name !== null) {
    if (subject === null || decodeHeader(name) !== readText(bytes, subject.start + 1, subject.end - 1)) return false;
  }
  if (envelope.kind !== "request") return true;
  const claimed = readString(bytes, claim);
  // What claims nothing is of the older era, which has no such headers; an odd header is for the server to refuse.
  if (claimed === null) return true;
  if (!isStatelessRevision(claimed)) return version === null || version === claimed;
  const needsName = subject !== null && NAMED_IN_HEADER.has(envelope.method.name);
  return version === claimed && method !== null && (!needsName || name !== null);
}
