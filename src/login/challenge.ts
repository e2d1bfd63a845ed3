/** What the Bearer challenge in a WWW-Authenticate header asks for. */
export interface Challenge {
  /** The URL of the resource metadata, if it is given. */
  readonly resourceMetadata: string | null;
  /** The scopes that a token must have; empty if they are not given. */
  readonly scopes: readonly string[];
  /** Whether the token was valid but its scope was not sufficient. */
  readonly wantsMoreScope: boolean;
}

/** Reads a WWW-Authenticate header. Challenges that are not Bearer or cannot be read are ignored. */
export function parseChallenge(header: string | null): Challenge {
  const parameters = bearerParameters((header ?? "").slice(0, MAX_HEADER));
  return {
    resourceMetadata: parameters.get("resource_metadata") ?? null,
    scopes: parseScopes(parameters.get("scope")),
    wantsMoreScope: parameters.get("error") === "insufficient_scope",
  };
}

/** Splits a list of scopes (RFC 6749, 3.3). Invalid scopes are ignored. */
export function parseScopes(text: unknown): string[] {
  if (typeof text !== "string") return [];
  return text
    .split(" ")
    .filter((scope) => SCOPE.test(scope))
    .slice(0, MAX_SCOPES);
}

const MAX_HEADER = 8192;
const MAX_SCOPES = 100;
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** The parameters of the first Bearer challenge. */
function bearerParameters(header: string): Map<string, string> {
  const parameters = new Map<string, string>();
  const parameter = /[\s,]*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/y;
  const scheme = /[\s,]*([\w!#$%&'*+.^`|~-]+)(?=[\s,]|$)/y;
  let isBearer = false;
  for (let at = 0; at < header.length;) {
    parameter.lastIndex = at;
    scheme.lastIndex = at;
    const found = parameter.exec(header);
    if (found !== null) {
      const [, name, quoted, bare] = found;
      if (isBearer) parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? bare);
      at = parameter.lastIndex;
      continue;
    }
    const next = scheme.exec(header);
    if (next === null || (isBearer && parameters.size > 0)) break;
    isBearer = next[1].toLowerCase() === "bearer";
    at = scheme.lastIndex;
  }
  return parameters;
}
