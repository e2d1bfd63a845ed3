import { type Id, spell } from "./id.ts";

/** What goes back to a peer whose request is refused. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** An answer that refuses. The id stands as its sender spelled it; null where there is none to trust. */
export function composeError(id: Id | null, error: WireError): Buffer {
  const body = error.data === undefined ? { code: error.code, message: error.message } : error;
  return compose(id, `"error":${JSON.stringify(body)}}`);
}

/** The same with an error that a peer wrote: JSON text, as latin1. */
export function composeErrorText(id: Id, error: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${spell(id)},"error":${error}}`, "latin1");
}

/** An answer that carries a result, given as JSON text. */
export function composeResult(id: Id, result: Buffer): Buffer {
  return Buffer.concat([compose(id, '"result":'), result, CLOSE]);
}

/** Several answers in one message; the one itself where there is only one, null where there is none. */
export function composeBatch(answers: readonly Buffer[]): Buffer | null {
  if (answers.length <= 1) return answers[0] ?? null;
  return Buffer.from(`[${answers.map((answer) => answer.toString("latin1")).join(",")}]`, "latin1");
}

/** Two messages with answers, each one answer or a batch of them, as one batch. */
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

/** A request of our own. Its params are JSON text. */
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
