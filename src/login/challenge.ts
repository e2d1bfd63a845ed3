/** What a WWW-Authenticate header asks of a bearer of tokens. */
export interface Challenge {
  /** Where the metadata of the resource is said to be. */
  readonly resourceMetadata: string | null;
  /** The scopes a token must have; none where it does not say. */
  readonly scopes: readonly string[];
  /** Whether a token was good, only not good for this. */
  readonly wantsMoreScope: boolean;
}

/** Reads a WWW-Authenticate header. What is not for bearers, or cannot be read, is passed over. */
export function parseChallenge(header: string | null): Challenge {
  const parameters = bearerParameters((header ?? "").slice(0, MAX_HEADER));
  return {
    resourceMetadata: parameters.get("resource_metadata") ?? null,
    scopes: parseScopes(parameters.get("scope")),
    wantsMoreScope: parameters.get("error") === "insufficient_scope",
  };
}

/** Takes a list of scopes apart (RFC 6749, 3.3). What is no scope is passed over. */
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

/** The parameters of the first Bearer challenge among several. */
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
