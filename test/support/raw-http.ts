import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Header names and values. A name may stand more than once. */
export type Headers = readonly (readonly [string, string])[];

/** A response as it came. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; those that stand more than once are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that is written by hand. */
export interface Question {
  readonly method?: string;
  /** What stands in the first line, whatever it is. */
  readonly target?: string;
  /** Null for no Host header. */
  readonly host?: string | null;
  readonly headers?: Headers;
  readonly body?: string | Buffer;
}

/** Where to ask. */
export interface Place {
  readonly port: number;
  readonly host?: string;
  /** The certificate to trust, where it is asked by TLS. */
  readonly ca?: string;
  /** The address to come from, such as another one of this machine. */
  readonly localAddress?: string;
}

/** Opens a connection. */
export function dial({ port, host = "127.0.0.1", ca, localAddress }: Place): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket: Socket =
      ca === undefined
        ? connect({ port, host, localAddress })
        : connectTls({ port, host, ca, servername: "localhost" });
    socket.once("error", reject);
    socket.once(ca === undefined ? "connect" : "secureConnect", () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}

/** The bytes of a request. */
export function write({ method = "POST", target = "/mcp", host = "localhost", headers = [], body }: Question): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`];
  if (host !== null) lines.push(`Host: ${host}`);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const bytes = Buffer.from(body ?? "");
  const isSized = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  if (body !== undefined && !isSized) lines.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), bytes]);
}

/** Asks once, on a connection of its own. */
export async function ask(place: Place, question: Question): Promise<Answer> {
  const headers: Headers = [...(question.headers ?? []), ["Connection", "close"]];
  const [answer] = await converse(place, [write({ ...question, headers })]);
  return answer;
}

/** Writes bytes on one connection and reads until the other side closes it: all that was answered. */
export async function converse(place: Place, writes: readonly (string | Buffer)[]): Promise<Answer[]> {
  const socket = await dial(place);
  const heard: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => heard.push(chunk));
  for (const bytes of writes) socket.write(bytes);
  await new Promise((resolve) => socket.once("close", resolve));
  return readAnswers(Buffer.concat(heard));
}

/** A response that is read while it comes. */
export interface Stream {
  readonly socket: Socket;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** All of the body so far. */
  text(): string;
  /** Each piece of the body, and when it came. */
  readonly pieces: readonly { readonly text: string; readonly at: number }[];
  /** Waits until this part has come. */
  hears(part: string): Promise<void>;
  /** Waits until the response is over. */
  ended(): Promise<void>;
}

/** Asks, and reads what is answered as it comes. Resolves with the head. */
export async function open(place: Place, question: Question): Promise<Stream> {
  const socket = await dial(place);
  socket.write(write(question));
  return follow(socket);
}

/** Reads a response from a connection. */
export function follow(socket: Socket): Promise<Stream> {
  let raw = Buffer.alloc(0);
  let head: Answer | null = null;
  let body = "";
  let isOver = false;
  const pieces: { text: string; at: number }[] = [];
  const watchers = new Set<() => void>();

  function tell(): void {
    for (const watch of watchers) watch();
  }

  function waitFor(isThere: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not heard: ${what}, only ${body.slice(0, 500)}`)), 15_000);
      const watch = (): void => {
        if (!isThere() && !isOver) return;
        clearTimeout(timer);
        watchers.delete(watch);
        if (isThere()) resolve();
        else reject(new Error(`ended without ${what}, only ${body.slice(0, 500)}`));
      };
      watchers.add(watch);
      watch();
    });
  }

  return new Promise((resolve, reject) => {
    socket.on("data", (chunk: Buffer) => {
      raw = Buffer.concat([raw, chunk]);
      const end = raw.indexOf("\r\n\r\n");
      if (end < 0) return;
      head ??= readHead(raw.toString("latin1", 0, end));
      const { text, isWhole } = readBody(head, raw.subarray(end + 4));
      if (text.length > body.length) pieces.push({ text: text.slice(body.length), at: performance.now() });
      body = text;
      isOver ||= isWhole;
      tell();
      resolve({
        socket,
        status: head.status,
        headers: head.headers,
        text: () => body,
        pieces,
        hears: (part) => waitFor(() => body.includes(part), part),
        ended: () => waitFor(() => isOver, "its end"),
      });
    });
    socket.on("close", () => {
      isOver = true;
      tell();
      reject(new Error(`closed before a response: ${raw.toString("latin1").slice(0, 200)}`));
    });
  });
}

/** All responses in the bytes of a connection that is over. */
export function readAnswers(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) throw new Error(`no response: ${rest.toString("latin1").slice(0, 200)}`);
    const head = readHead(rest.toString("latin1", 0, end));
    const { text, size } = readBody(head, rest.subarray(end + 4));
    if (head.status !== 100) answers.push({ ...head, body: text });
    rest = rest.subarray(end + 4 + size);
  }
  return answers;
}

function readHead(text: string): Answer {
  const [first, ...lines] = text.split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]), headers, body: "" };
}

/** As much of a body as there is, how many bytes that was, and whether it is all. */
function readBody({ status, headers }: Answer, bytes: Buffer): { text: string; size: number; isWhole: boolean } {
  if (status === 204 || status === 304 || status === 100) return { text: "", size: 0, isWhole: true };
  if (headers["transfer-encoding"] !== "chunked") {
    const length = Number(headers["content-length"] ?? Infinity);
    const size = Math.min(length, bytes.length);
    return { text: bytes.toString("utf8", 0, size), size, isWhole: bytes.length >= length };
  }
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const line = bytes.indexOf("\r\n", at);
    const length = line < 0 ? NaN : Number.parseInt(bytes.toString("latin1", at, line), 16);
    const isWhole = length === 0 && bytes.length >= line + 4;
    if (isWhole) return { text: Buffer.concat(pieces).toString("utf8"), size: line + 4, isWhole };
    if (Number.isNaN(length) || length === 0 || bytes.length < line + 2 + length)
      return { text: Buffer.concat(pieces).toString("utf8"), size: bytes.length, isWhole: false };
    pieces.push(bytes.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}
