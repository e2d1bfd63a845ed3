import type { Peer } from "./peer.ts";

// Written like the TypeScript SDK does: method first, id last.

/** Calls the echo tool for a short response, or for one of this size and shape. */
export function composeCall(id: number, size = 0, shape = ""): string {
  const wanted = size === 0 ? "" : `,"size":${size},"shape":"${shape}"`;
  return composeToolCall("echo", `"message":"hi"${wanted}`, id);
}

/** Calls a tool that the filter hides. */
export function composeDenied(id: number): string {
  return composeToolCall("file_6", '"message":"hi"', id);
}

/** Asks how many notifications have arrived. */
export function composeCount(id: number): string {
  return composeToolCall("count", "", id);
}

/** Requests the tool list. */
export function composeList(id: number): string {
  return `{"method":"tools/list","jsonrpc":"2.0","id":${id}}\n`;
}

/** A small notification. */
export const NOTIFICATION =
  '{"method":"notifications/progress","params":{"progressToken":1,"progress":5},"jsonrpc":"2.0"}\n';

function composeToolCall(name: string, args: string, id: number): string {
  return `{"method":"tools/call","params":{"name":"${name}","arguments":{${args}}},"jsonrpc":"2.0","id":${id}}\n`;
}

let lastId = 0;

/** An id that was not used before. */
export function nextId(): number {
  return ++lastId;
}

/** Makes call after call, each when the previous one is answered. Returns how long each took, in microseconds. */
export async function callInTurn(peer: Peer, count: number, compose: Compose = composeCall): Promise<Float64Array> {
  const times = new Float64Array(count);
  for (let nth = 0; nth < count; nth++) {
    const id = nextId();
    const text = compose(id);
    const began = performance.now();
    await peer.ask(text);
    times[nth] = (performance.now() - began) * 1000;
    checkId(peer.last, id);
  }
  return times;
}

type Compose = (id: number) => string;

/** How concurrent calls are written: each in a write of its own, or joined. */
export type Writes = "single" | "joined";

function checkId(answer: Buffer, id: number): void {
  // A response in several chunks is not checked: the id may be in any of them.
  const isWhole = answer[0] === 0x7b && answer.at(-1) === 0x0a;
  if (isWhole && !answer.includes(`"id":${id}`)) throw new Error(`no answer to ${id}: ${answer.toString("latin1")}`);
}

/**
 * Keeps this many calls open until `count` are answered. They are written one by one, as clients do, or joined in one
 * write. Returns the total time in milliseconds.
 */
export async function callAhead(peer: Peer, count: number, window: number, writes: Writes): Promise<number> {
  let sent = 0;
  let answered = 0;

  function send(calls: number): void {
    let text = "";
    for (let nth = 0; nth < calls && sent < count; nth++, sent++) {
      if (writes === "single") void peer.tell(composeCall(nextId()));
      else text += composeCall(nextId());
    }
    if (text !== "") void peer.tell(text);
  }

  const began = performance.now();
  const all = peer.follow((lines) => {
    answered += lines;
    send(lines);
    return answered >= count;
  });
  send(window);
  await all;
  if (answered !== count) throw new Error(`${answered} answers to ${count} calls`);
  return performance.now() - began;
}
