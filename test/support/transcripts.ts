import { expect } from "vitest";
import type { Sides } from "./pairs.ts";

/**
 * Fails unless what each side said is what the other heard, byte for byte, nothing more and nothing less. Messages of
 * one stream come in the order in which they were sent. Streams of HTTP are independent of each other, so between
 * messages of different streams there is no order to keep.
 */
export function expectFaithful(pair: string, { client, server }: Sides): void {
  const [heard, said] = [client, server].map(({ down }) => down.map((stream) => stream.map(escapeBreaks)));
  expectSameMessages(`${pair}: what the server got`, server.up, client.up);
  expectSameMessages(`${pair}: what the client got`, heard.flat(), said.flat());
  for (const one of heard) expectInOrder(`${pair}: a stream of the client's`, one, said);
  for (const one of said) expectInOrder(`${pair}: a stream of the server's`, one, heard);
}

/** In events two characters are written as escapes, because some readers end a line there. The text is in Latin-1. */
export function escapeBreaks(text: string): string {
  return text.replaceAll("\u00e2\u0080\u00a8", "\\u2028").replaceAll("\u00e2\u0080\u00a9", "\\u2029");
}

/** Fails unless both are the same messages, each as often, whatever their order. */
export function expectSameMessages(
  what: string,
  actual: readonly string[],
  expected: readonly string[],
  steady: (text: string) => string = (text) => text,
): void {
  const [one, other] = [actual, expected].map((list) => list.map(steady).toSorted());
  const missing = without(other, one);
  const added = without(one, other);
  expect({ what, missing, added }).toEqual({ what, missing: [], added: [] });
}

function without(list: readonly string[], taken: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const each of taken) counts.set(each, (counts.get(each) ?? 0) + 1);
  return list.filter((each) => {
    const count = counts.get(each) ?? 0;
    counts.set(each, count - 1);
    return count <= 0;
  });
}

/** Messages of one stream that are on one stream of the other side too are in the same order there. */
function expectInOrder(what: string, stream: readonly string[], others: readonly (readonly string[])[]): void {
  for (const other of others) {
    const shared = new Set(other);
    const here = stream.filter((message) => shared.has(message));
    const own = new Set(stream);
    const there = other.filter((message) => own.has(message));
    expect({ what, here }).toEqual({ what, here: there });
  }
}

/**
 * What a server process heard and said that is shared between clients, with the names that its clients gave to their
 * requests in place of those of Fairlead's. Ids, progress tokens and names of subscriptions are all that may differ:
 * whatever else does is still there afterwards. An `initialize` does not reach it: that is a method of the older era,
 * which would change it for everybody.
 */
export function putBack({ client, server }: Sides): Sides {
  const refused = new Set(client.up.filter((line) => line.includes(`"method":"initialize"`)).map(idIn));
  const isForServer = (line: string): boolean => idIn(line) === undefined || !refused.has(idIn(line));
  const asked = client.up.filter((line) => idIn(line) !== undefined && isForServer(line));
  const names = new Map<string, { readonly id: string; readonly token: string | undefined }>();
  const up = server.up.flatMap((line) => {
    const number = idIn(line);
    if (number === undefined) return [];
    const original = asked[names.size];
    const [id = "", token] = [idIn(original), tokenIn(original)];
    names.set(number, { id, token });
    return [rename(line, number, id, token)];
  });
  const down = server.down.map((stream) =>
    stream.map((line) => {
      for (const [number, { id, token }] of names) {
        if (idIn(line) === number || tokenIn(line) === number || subscriptionIn(line) === number)
          return rename(line, number, id, token);
      }
      return line;
    }),
  );
  const heard = client.down.map((stream) => stream.filter(isForServer));
  return { client: { up: asked, down: heard }, server: { up, down } };
}

const TOKEN = /(?<="progressToken":)("[^"]*"|\d+)/;
const SUBSCRIPTION = /(?<="io\.modelcontextprotocol\/subscriptionId":)("[^"]*"|\d+)/;

const idIn = (line: string): string | undefined => findId(line)?.text;
const tokenIn = (line: string): string | undefined => TOKEN.exec(line)?.[0];
const subscriptionIn = (line: string): string | undefined => SUBSCRIPTION.exec(line)?.[0];

/** The id of a message: at the top, wherever it stands. */
function findId(line: string): { text: string; at: number } | undefined {
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '"') {
      if (depth === 1 && line.startsWith('"id":', at)) {
        const text = /^("[^"]*"|\d+)/.exec(line.slice(at + 5))?.[0];
        return text === undefined ? undefined : { text, at: at + 5 };
      }
      while (line[++at] !== '"') if (line[at] === "\\") at++;
    } else if ("{[".includes(line[at])) depth++;
    else if ("}]".includes(line[at])) depth--;
  }
  return undefined;
}

function rename(line: string, number: string, id: string, token: string | undefined): string {
  const found = findId(line);
  const renamed = found?.text === number ? line.slice(0, found.at) + id + line.slice(found.at + number.length) : line;
  return renamed
    .replace(TOKEN, (given) => (given === number && token !== undefined ? token : given))
    .replace(SUBSCRIPTION, (given) => (given === number ? id : given));
}
