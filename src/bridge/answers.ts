import type { ConnectionError } from "../errors.ts";
import type { WireError } from "../message/compose.ts";

/** The error for open calls when the connection to the server is closed. */
export const CLOSED: WireError = { code: -32000, message: "Connection closed" };

/** The error for a request that cannot be sent because there are too many. */
export const BUSY: WireError = { code: -32000, message: "Too many requests at once" };

/** The error for a request that failed, and the HTTP status that goes with it. */
export function failureOf({ code }: ConnectionError): { readonly error: WireError; readonly status: number } {
  return code === "NO_ROOM" ? { error: BUSY, status: 503 } : { error: CLOSED, status: 502 };
}

/** The error for a request that the server answered with something that is not a response. */
export const INVALID: WireError = { code: -32000, message: "Invalid response" };

/** The error for a request that the server answered with a status and no message. */
export function refusedWith(status: number): WireError {
  return { code: -32000, message: `The server answered with status ${status}` };
}

/**
 * The HTTP status for a message that the proxy refuses. A refusal by policy is a JSON-RPC error with status 200; a
 * malformed message gets an HTTP error status too.
 */
export function statusOf(rule: string | null | undefined): number {
  if (rule === null || rule === undefined) return 200;
  if (rule === "session:too-many-calls") return 503;
  if (rule === "strict:variant-method" || rule === "session:wrong-direction") return 404;
  return rule.startsWith("strict:") || rule.startsWith("session:") ? 400 : 200;
}
