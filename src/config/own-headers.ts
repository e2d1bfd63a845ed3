import { LOWER_HEADERS } from "../message/protocol.ts";

/** The headers that our transport sets itself: nobody else does. */
export const OWN_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "content-type",
  "transfer-encoding",
  "accept-encoding",
  LOWER_HEADERS.session,
]);
