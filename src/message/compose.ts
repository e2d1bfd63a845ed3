import { type Id, spell } from "./id.ts";

/** The error in the response to a refused request. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Makes an error response. The id is spelled as the sender spelled it; it is null if no id can be trusted. */
export function composeError(id: Id | null, error: WireError): Buffer {
  const body = error.data === undefined ? { code: error.code, message: error.message } : error;
  return compose(id, `"error":${JSON.stringify(body)}}`);
}

/** Makes an error response from an error that a peer wrote: JSON text, as latin1. */
export function composeErrorText(id: Id, error: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${spell(id)},"error":${error}}`, "latin1");
}

/** Makes a response with a result, which is given as JSON text. */
export function composeResult(id: Id, result: Buffer): Buffer {
  return Buffer.concat([compose(id, '"result":'), result, CLOSE]);
}

/** Joins responses to a batch. A single response is returned as it is; without any, null is returned. */
export function composeBatch(answers: readonly Buffer[]): Buffer | null {
  if (answers.length <= 1) return answers[0] ?? null;
  return Buffer.from(`[${answers.map((answer) => answer.toString("latin1")).join(",")}]`, "latin1");
}

/** Joins two messages into one batch. Each is a response or a batch of responses. */
export function mergeBatches(one: Buffer, other: Buffer): Buffer {
  const parts = [strip(one), strip(other)].filter((part) => part !== "");
  return Buffer.from(`[${parts.join(",")}]`, "latin1");
}

function strip(batch: Buffer): string {
  return batch
    .toString("latin1")
    .trim()
    .replace(/^\[|\]$/g, "");
}

/** Makes a request of the proxy's own. `params` is JSON text. */
export function composeRequest(id: string, method: string, params: string): Buffer {
  return Buffer.from(
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":${params}}`,
  );
}

const CLOSE = Buffer.from("}");

function compose(id: Id | null, rest: string): Buffer {
  return Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":'),
    Buffer.from(id === null ? "null" : spell(id), "latin1"),
    Buffer.from(`,${rest}`),
  ]);
}
