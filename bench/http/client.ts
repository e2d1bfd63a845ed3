import { composeCall, composeList, nextId } from "../messages.ts";
import { expectAnswer, expectNothing } from "../silence.ts";
import { type Answer, type Connection, openConnection } from "./connection.ts";

/** A session at one port, and the beginning of its requests. */
export interface Session {
  readonly port: number;
  readonly head: string;
}

/** Opens a session as clients do: `initialize`, then `notifications/initialized`. */
export async function openSession(connection: Connection, port: number): Promise<Session> {
  const id = nextId();
  const first = await ask(connection, composePost({ port, head: composeHead(port, "") }, composeInitialize(id)));
  checkAnswer(first, id);
  const name = /\r\nmcp-session-id: *([^\r\n]+)/i.exec(first.head)?.[1];
  if (name === undefined) throw new Error(`no session: ${first.head}`);
  const head = composeHead(port, `Mcp-Session-Id: ${name}\r\nMCP-Protocol-Version: ${VERSION}\r\n`);
  const { head: taken } = await ask(connection, composePost({ port, head }, INITIALIZED));
  if (!taken.startsWith("HTTP/1.1 202")) throw new Error(`not taken: ${taken}`);
  return { port, head };
}

/** Opens a session and waits for the response to a first `tools/list`. */
export async function openFirst(port: number): Promise<void> {
  const connection = await openConnection(port);
  const session = await openSession(connection, port);
  const id = nextId();
  checkAnswer(await ask(connection, composePost(session, composeList(id).trimEnd())), id);
  connection.close();
}

/** Opens the standing stream of a session. */
export async function openStream({ port, head }: Session): Promise<Connection> {
  const connection = await openConnection(port);
  const request = head.replace("POST ", "GET ").replace(/Content-Length: $/, "\r\n");
  expectAnswer();
  const answer = await new Promise<Answer>((resolve) => connection.open(request, resolve));
  expectNothing();
  if (!answer.head.startsWith("HTTP/1.1 200")) throw new Error(`no stream: ${answer.head}`);
  return connection;
}

/**
 * Sends call after call on one connection, using these sessions in turn. Returns how long each took, in microseconds.
 */
export async function callInTurn(sessions: readonly Session[], count: number): Promise<Float64Array> {
  const connection = await openConnection(sessions[0].port);
  const times = new Float64Array(count);
  for (let nth = 0; nth < count; nth++) {
    const id = nextId();
    const request = composePost(sessions[nth % sessions.length], composeCall(id).trimEnd());
    const began = performance.now();
    const answer = await ask(connection, request);
    times[nth] = (performance.now() - began) * 1000;
    checkAnswer(answer, id, "hello");
  }
  connection.close();
  return times;
}

/**
 * Keeps one call open on each connection until `count` are answered, using the sessions in turn. Every connection has
 * been used before the clock starts. Returns the total time in milliseconds.
 */
export async function callAtOnce(sessions: readonly Session[], connections: number, count: number): Promise<number> {
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(sessions[0].port)));
  await callOnAll(open, sessions, connections);
  const time = await callOnAll(open, sessions, count);
  for (const connection of open) connection.close();
  return time;
}

function callOnAll(open: readonly Connection[], sessions: readonly Session[], count: number): Promise<number> {
  let sent = 0;
  let answered = 0;
  const began = performance.now();
  expectAnswer();
  return new Promise((resolve) => {
    function call(connection: Connection): void {
      if (sent === count) return;
      const id = nextId();
      connection.send(composePost(sessions[sent++ % sessions.length], composeCall(id).trimEnd()), (answer) => {
        checkAnswer(answer, id, "hello");
        answered++;
        if (answered < count) return call(connection);
        expectNothing();
        resolve(performance.now() - began);
      });
    }
    for (const connection of open) call(connection);
  });
}

/** Requests a response of a given size. Returns how long it took, in milliseconds. */
export async function fetchBytes(connection: Connection, session: Session, size: number): Promise<number> {
  const id = nextId();
  const request = composePost(session, composeCall(id, size, "lines").trimEnd());
  const began = performance.now();
  const answer = await ask(connection, request);
  const time = performance.now() - began;
  checkAnswer(answer, id);
  const got = answer.pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (Math.abs(got - size) > MAX_WRAPPING * size) throw new Error(`${got} bytes instead of ${size}`);
  return time;
}

/** The share that chunk headers and events may add to a response. */
const MAX_WRAPPING = 0.01;

async function ask(connection: Connection, request: string): Promise<Answer> {
  expectAnswer();
  const answer = await new Promise<Answer>((resolve) => connection.send(request, resolve));
  expectNothing();
  return answer;
}

/** Checks that this is the response to that request, and not an error. */
function checkAnswer({ head, pieces }: Answer, id: number, text = '"result"'): void {
  const body = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
  const said =
    body.length < 10_000
      ? body.toString("latin1")
      : body.toString("latin1", 0, 500) + body.toString("latin1", body.length - 500);
  const at = said.indexOf(`"id":${id}`);
  const after = said.charCodeAt(at + 5 + String(id).length);
  const isOurs = at >= 0 && !(after >= 0x30 && after <= 0x39);
  if (isOurs && head.startsWith("HTTP/1.1 200") && said.includes(text)) return;
  throw new Error(`no answer to ${id}: ${head}\n\n${said}`);
}

function composePost({ head }: Session, message: string): string {
  return `${head}${message.length}\r\n\r\n${message}`;
}

/** The request head that the TypeScript SDK sends with Node's fetch, up to the value of Content-Length. */
function composeHead(port: number, session: string): string {
  return (
    `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n` +
    `Accept: application/json, text/event-stream\r\n${session}Accept-Language: *\r\nSec-Fetch-Mode: cors\r\n` +
    "User-Agent: node\r\nAccept-Encoding: gzip, deflate\r\nContent-Length: "
  );
}

const VERSION = "2025-11-25";

/** The `initialize` request. */
export function composeInitialize(id: number): string {
  const params = `{"protocolVersion":"${VERSION}","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}`;
  return `{"method":"initialize","params":${params},"jsonrpc":"2.0","id":${id}}`;
}

/** The notification that the handshake is complete. */
export const INITIALIZED = '{"method":"notifications/initialized","jsonrpc":"2.0"}';
