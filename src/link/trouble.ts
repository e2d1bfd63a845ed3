import { ProxyError } from "../errors.ts";

/**
 * The error for a failed login. It has no cause, because the text of a library or a server may contain codes and
 * tokens.
 */
export function loginFailed(reason: string, remedy: string): ProxyError {
  return new ProxyError("LOGIN_FAILED", `Login failed: ${reason}`, remedy);
}

/** A server's text made safe for a terminal: printable ASCII of limited length. */
export function plain(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return cut.replace(/[^ -~]/g, "?");
}

const MAX_SHOWN = 200;

/** A URL for people: without user name, password and query. */
export function shown(url: URL): string {
  return `${url.origin}${url.pathname === "/" ? "" : url.pathname}`;
}
