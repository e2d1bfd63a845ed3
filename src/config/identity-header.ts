/**
 * Whether a header may name the client. Headers with another meaning, and headers that clients can append to, may not.
 */
export function canNameClient(header: string): boolean {
  return IDENTITY_HEADER.test(header);
}

/** Matches the names of headers that may name the client. */
export const IDENTITY_HEADER =
  /^(?!(?:authorization|cookie|host|origin|accept|connection|transfer-encoding|forwarded|via|x-forwarded-(?:for|host|port|proto)|(?:mcp|content|sec|last-event)-.*)$)[a-z\d-]+$/i;
