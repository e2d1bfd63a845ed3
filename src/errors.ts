/** What can go wrong with us. `docs/errors.md` has a sentence for each. */
export type ProxyErrorCode =
  | "BAD_USAGE"
  | "BAD_PATTERN"
  | "UNSAFE_PATTERN"
  | "COMMAND_NOT_FOUND"
  | "COMMAND_NOT_RUNNABLE"
  | "BAD_DIRECTORY"
  | "FILE_NOT_WRITABLE"
  | "FILE_NOT_READABLE"
  | "TOOL_LIST_FAILED"
  | "NO_AUDIT_KEY"
  | "LOGIN_FAILED"
  | "BAD_TOKENS"
  | "BAD_CERTIFICATE"
  | "CANNOT_LISTEN"
  | "BAD_UPSTREAM"
  | "BAD_WEBHOOK"
  | "BAD_LOCK_FILE"
  | "BAD_POLICY"
  | "CONNECTION_FAILED";

/** A fault of ours, or of what we were asked to do. The first line says what, the second what to do about it. */
export class ProxyError extends Error {
  readonly code: ProxyErrorCode;
  /** The second line. */
  readonly remedy: string;

  constructor(code: ProxyErrorCode, message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProxyError";
    this.code = code;
    this.remedy = remedy;
  }
}

/**
 * Why a server at a URL could not be used: the `cause` of a ProxyError with CONNECTION_FAILED or TOOL_LIST_FAILED.
 * `message` is safe to show; the details are for the log.
 */
export class ConnectionError extends Error {
  /** NO_ROOM is a want of ours, not of the server's: too many connections, or no file descriptors left. */
  readonly code: "TIMEOUT" | "REFUSED" | "INVALID_RESPONSE" | "NO_ROOM";
  readonly internalDetails: string;

  constructor(code: ConnectionError["code"], message: string, internalDetails: string) {
    super(message);
    this.name = "ConnectionError";
    this.code = code;
    this.internalDetails = internalDetails;
  }
}
