/** Whether a header may name the client: not one that says something else already, or that clients add to. */
export function canNameClient(header: string): boolean {
  return IDENTITY_HEADER.test(header);
}

/** The names of headers that may. */
export const IDENTITY_HEADER =
  /^(?!(?:authorization|cookie|host|origin|accept|connection|transfer-encoding|forwarded|via|x-forwarded-(?:for|host|port|proto)|(?:mcp|content|sec|last-event)-.*)$)[a-z\d-]+$/i;
