import type { ConnectionError } from "../errors.ts";
import type { WireError } from "../message/compose.ts";

/** What those hear who wait when nobody will answer any more. */
export const CLOSED: WireError = { code: -32000, message: "Connection closed" };

/** What those hear whose request cannot be sent because there are too many. */
export const BUSY: WireError = { code: -32000, message: "Too many requests at once" };

/** What those hear whose request failed, and the HTTP status that goes with it. */
export function failureOf({ code }: ConnectionError): { readonly error: WireError; readonly status: number } {
  return code === "NO_ROOM" ? { error: BUSY, status: 503 } : { error: CLOSED, status: 502 };
}

/** What those hear whose server answers with something that is no answer. */
export const INVALID: WireError = { code: -32000, message: "Invalid response" };

/** What those hear whose server answers with nothing but a status. */
export function refusedWith(status: number): WireError {
  return { code: -32000, message: `The server answered with status ${status}` };
}

/** The HTTP status for a refusal of ours. Policy speaks inside the protocol; what is malformed is HTTP's business too. */
export function statusOf(rule: string | null | undefined): number {
  if (rule === null || rule === undefined) return 200;
  if (rule === "session:too-many-calls") return 503;
  if (rule === "strict:variant-method" || rule === "session:wrong-direction") return 404;
  return rule.startsWith("strict:") || rule.startsWith("session:") ? 400 : 200;
}
