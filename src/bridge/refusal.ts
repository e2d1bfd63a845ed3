import type { Outcome } from "../action/outcome.ts";
import { admits, isJson } from "../link/http/client-head.ts";
import type { Visit } from "../link/http/door.ts";
import { readBody } from "../link/http/body.ts";
import { replyEmpty, replyError, replyJson } from "../link/http/reply.ts";
import type { Witness } from "../record/witness.ts";
import type { Call } from "../session/call.ts";
import type { Session } from "../session/session.ts";
import { statusOf } from "./answers.ts";
import type { Seat } from "./seats.ts";

/**
 * Reads the message in a client's request. A request without a message, or with one that is encoded or too large, is
 * answered here. `sent` tells that the body has been forwarded and is not kept any more.
 */
export function readMessage(visit: Visit, maxBytes: number, done: (body: Buffer, sent: () => void) => void): void {
  const { head, response } = visit;
  if (!isJson(head.contentType)) return replyError(response, 415, UNSUPPORTED_TYPE, null);
  if (head.contentEncoding !== null) return replyError(response, 415, UNSUPPORTED_ENCODING, null);
  if (!admits(head.accept, "application/json") && !admits(head.accept, "text/event-stream")) {
    return replyError(response, 406, NOT_ACCEPTABLE, null);
  }
  readBody(visit, head.contentLength, maxBytes, (body, sent) => {
    if (body === "too-large") return replyError(response, 413, TOO_LARGE, null);
    if (body !== "no-room") return done(body, sent);
    response.setHeader("Retry-After", "1");
    replyError(response, 503, NO_ROOM, null);
  });
}

/**
 * Answers a message that is not forwarded. Over HTTP every message is answered, including those that get no response on
 * stdio.
 */
export function answerHere({ response }: Visit, { back, rule }: Outcome): void {
  if (back !== null) replyJson(response, statusOf(rule), back, []);
  else if (statusOf(rule) >= 400) replyError(response, statusOf(rule), UNREADABLE, null);
  else replyEmpty(response, 202, []);
}

/** Closes calls that were permitted but are not sent. */
export function forget({ session }: Seat, calls: readonly Call[]): void {
  for (const call of calls) session.calls.up.close(call);
}

/**
 * Records in the audit log that the server refused a client's request with 401 or 403. The client gets that response
 * itself.
 */
export function noteRefusal(witness: Witness, visit: Visit | null, session: Session | null, status: number): void {
  if (status !== 401 && status !== 403) return;
  witness.refusedLogin({
    by: "server",
    status,
    rule: "login-refused",
    reason: `The server answered with status ${status}`,
    address: visit?.request.socket.remoteAddress ?? null,
    ...(session === null ? {} : { session }),
  });
}

const UNSUPPORTED_TYPE = { code: -32000, message: "Unsupported Media Type: Content-Type must be application/json" };
const UNSUPPORTED_ENCODING = { code: -32000, message: "Unsupported Media Type: a body must not be encoded" };
const NOT_ACCEPTABLE = {
  code: -32000,
  message: "Not Acceptable: Client must accept application/json and text/event-stream",
};
const TOO_LARGE = { code: -32600, message: "Invalid request: message too large" };
const NO_ROOM = { code: -32000, message: "Too many messages at once" };
const UNREADABLE = { code: -32700, message: "Parse error" };

export const FULL = { code: -32000, message: "Too many sessions" };
export const NO_SERVER = { code: -32000, message: "The server could not be started" };
export const NO_SESSION = { code: -32001, message: "Session not found" };
export const NOT_ALLOWED = { code: -32000, message: "Method not allowed." };
