/** Somebody who may use our HTTP side. */
export interface Principal {
  /** Tells people apart, for ever: issuer and subject, or the name of a token. */
  readonly id: string;
}

/** Why somebody may not. */
export interface Refusal {
  readonly status: 401 | 403;
  /** The value of WWW-Authenticate, without `resource_metadata`. */
  readonly challenge: string;
}

/** Decides who may use our HTTP side. */
export interface Gate {
  /** Looks at an Authorization header. A promise only where somebody has to be asked. */
  admit(authorization: string | null): Principal | Refusal | Promise<Principal | Refusal>;
}
