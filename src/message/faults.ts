/** The reasons why a message is opaque, by name, each with the code and text of its error response. */
export const FAULTS = {
  "not-json": { code: -32700, text: "Parse error" },
  "not-utf8": { code: -32700, text: "Parse error" },
  "too-large": { code: -32600, text: "Invalid request: message too large" },
  "too-deep": { code: -32600, text: "Invalid request: nested too deeply" },
  "carriage-return": { code: -32600, text: "Invalid request: carriage return inside the message" },
  "duplicate-key": { code: -32600, text: "Invalid request: duplicate key" },
  "variant-key": { code: -32600, text: "Invalid request: ambiguous key" },
  "prototype-key": { code: -32600, text: "Invalid request: ambiguous key" },
  "lone-surrogate": { code: -32600, text: "Invalid request: lone surrogate" },
  "not-an-object": { code: -32600, text: "Invalid request: not an object" },
  "bad-version": { code: -32600, text: 'Invalid request: jsonrpc must be "2.0"' },
  "bad-id": { code: -32600, text: "Invalid request: id must be a string or an integer" },
  "bad-method": { code: -32600, text: "Invalid request: method must be a string" },
  "variant-method": { code: -32601, text: "Method not found" },
  "bad-params": { code: -32600, text: "Invalid request: params must be an object" },
  "bad-subject": {
    code: -32602,
    text: "Invalid params: the name, URI or task id must be a string, and a name must not be too long",
  },
  ambiguous: { code: -32600, text: "Invalid request: neither a request nor an answer" },
} as const;

/** The name of a fault. */
export type Fault = keyof typeof FAULTS;
