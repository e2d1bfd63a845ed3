/** An authenticated client. */
export interface Principal {
  /** Permanent and unique: issuer and subject, or the name of a token. */
  readonly id: string;
}

/** Why a client is refused. */
export interface Refusal {
  readonly status: 401 | 403;
  /** The value of WWW-Authenticate, without `resource_metadata`. */
  readonly challenge: string;
}

/** Decides which clients may use the HTTP server. */
export interface Gate {
  /** Checks an Authorization header. Returns a promise only if keys have to be fetched. */
  admit(authorization: string | null): Principal | Refusal | Promise<Principal | Refusal>;
}
