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
 * Whether the headers of a request contradict its body. Security: a gateway that routes or filters by the headers must
 * not see a different message than the server does. `claim` is where the body names its revision; `known` has the known
 * tools.
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
  // Without a claim the request is of the stateful era, which does not have these headers. The server decides about
  // them.
  if (claimed === null) return true;
  if (!isStatelessRevision(claimed)) return version === null || version === claimed;
  const needsName = subject !== null && NAMED_IN_HEADER.has(envelope.method.name);
  return version === claimed && method !== null && (!needsName || name !== null);
}
