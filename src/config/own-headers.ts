import { LOWER_HEADERS } from "../message/protocol.ts";

/** Headers that the transport sets itself, and that a policy file must not set. */
export const OWN_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "content-type",
  "transfer-encoding",
  "accept-encoding",
  LOWER_HEADERS.session,
]);
