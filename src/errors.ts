/** The codes of the errors of Fairlead. `docs/errors.md` explains each of them. */
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

/** An error of Fairlead, or of the options it was given. `message` says what is wrong, `remedy` what to do. */
export class ProxyError extends Error {
  readonly code: ProxyErrorCode;
  /** What to do: the second line of the error on stderr. */
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
 * `message` is safe to show to users; `internalDetails` are for the log.
 */
export class ConnectionError extends Error {
  /** NO_ROOM is a problem of Fairlead, not of the server: too many connections, or no file descriptors left. */
  readonly code: "TIMEOUT" | "REFUSED" | "INVALID_RESPONSE" | "NO_ROOM";
  readonly internalDetails: string;

  constructor(code: ConnectionError["code"], message: string, internalDetails: string) {
    super(message);
    this.name = "ConnectionError";
    this.code = code;
    this.internalDetails = internalDetails;
  }
}
