import { ProxyError } from "../errors.ts";

/** A login that did not work. What a library or a server said may hold codes and tokens, so there is never a cause. */
export function loginFailed(reason: string, remedy: string): ProxyError {
  return new ProxyError("LOGIN_FAILED", `Login failed: ${reason}`, remedy);
}

/** What a server said, fit for a terminal: printable ASCII, not much of it. */
export function plain(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return cut.replace(/[^ -~]/g, "?");
}

const MAX_SHOWN = 200;

/** A URL for people: no name, no password, no query. */
export function shown(url: URL): string {
  return `${url.origin}${url.pathname === "/" ? "" : url.pathname}`;
}
