import { type Head, parseHead, type ResponseHead } from "./http-head.ts";

/** Receives the output of a response reader. */
export interface ResponseSink {
  head(head: ResponseHead): void;
  /** A part of the body. */
  body(bytes: Buffer): void;
  /** The response is complete. `reusable` says whether the connection can be used for another one. */
  done(reusable: boolean): void;
  /** The bytes are not a valid HTTP response, or end too early. Nothing more is read from this connection. */
  fault(reason: string): void;
}

/** Reads one response after the other from the bytes of a connection. */
export interface ResponseReader {
  /** Starts to read the next response. Bytes that arrive while no response is expected are a fault. */
  expect(sink: ResponseSink, method: string): void;
  /** Reads a chunk. Returns the number of steps it took: one for most chunks, thousands if HTTP chunks are tiny. */
  push(chunk: Buffer): number;
  /** The connection ended. `isBroken` says that it ended with an error. */
  end(isBroken?: boolean): void;
}

const MAX_HEAD_BYTES = 65_536;
const MAX_CHUNK_LINE_BYTES = 1024;
const MAX_TRAILER_BYTES = 16_384;

type State = "idle" | "head" | "length" | "until-end" | "chunk-line" | "chunk" | "chunk-end" | "trailer" | "dead";

/** Makes a reader. It is strict: bytes that two readers could read differently are a fault. */
export function createResponseReader(): ResponseReader {
  let state: State = "idle";
  let sink: ResponseSink | null = null;
  let method = "GET";
  let pending: Buffer = NOTHING; // bytes of an incomplete head or line
  let left = 0; // bytes of the body, or of the HTTP chunk, that have not arrived yet
  let reusable = true;
  let trailer = 0;
  let end = 0; // of the bytes that are being read

  function fail(reason: string): void {
    const listener = sink;
    state = "dead";
    sink = null;
    pending = NOTHING;
    listener?.fault(reason);
  }

  /** The response is complete at offset `at` of the chunk. */
  function finish(at: number): void {
    const listener = sink;
    // Security: extra bytes would be read as the response to the next request, so the connection is not reused.
    if (at < end) reusable = false;
    state = reusable ? "idle" : "dead";
    sink = null;
    listener?.done(reusable);
  }

  /** Reads the head, from `at` on. Returns the offset of its end in the chunk, or -1 if it is incomplete. */
  function readHead(chunk: Buffer, at: number): number {
    const before = pending.length;
    const rest = at === 0 ? chunk : chunk.subarray(at);
    const bytes = before === 0 ? rest : Buffer.concat([pending, rest]);
    const headEnd = bytes.indexOf(HEAD_END, Math.max(0, before - 3));
    if (headEnd < 0) {
      if (bytes.length > MAX_HEAD_BYTES) fail("the head is too large");
      // The head ends with bare LFs, so its CRLF CRLF would never arrive.
      else if (bytes.includes("\n\n", Math.max(0, before - 1))) fail("a line ends without CR");
      else pending = bytes;
      return -1;
    }
    pending = NOTHING;
    const next = at + headEnd + HEAD_END.length - before;
    if (headEnd > MAX_HEAD_BYTES) fail("the head is too large");
    else beginBody(parseHead(bytes.toString("latin1", 0, headEnd)), next);
    return next;
  }

  function beginBody(head: Head | string, at: number): void {
    if (typeof head === "string") return fail(head);
    if (head.status < 200) {
      // An interim response: the final one follows. 101 is a fault, because the proxy never asks to switch protocols.
      if (head.status === 101) fail("the protocol was switched");
      return;
    }
    reusable = head.keepAlive;
    const hasNoBody = method === "HEAD" || head.status === 204 || head.status === 304;
    if (hasNoBody || (!head.chunked && head.length === 0)) {
      sink?.head(head);
      return finish(at);
    }
    if (head.chunked) state = "chunk-line";
    else if (head.length === null) {
      state = "until-end";
      reusable = false;
    } else {
      state = "length";
      left = head.length;
    }
    sink?.head(head);
  }

  /** Reads the rest of a line. Returns null if it is incomplete or malformed. */
  function readLine(chunk: Buffer, at: number, limit: number): { line: string; end: number } | null {
    const newline = chunk.indexOf(LF, at);
    const piece = chunk.subarray(at, newline < 0 ? chunk.length : newline + 1);
    const bytes = pending.length === 0 ? piece : Buffer.concat([pending, piece]);
    if (bytes.length > limit) {
      fail("a line is too long");
      return null;
    }
    if (newline < 0) {
      pending = Buffer.from(bytes);
      return null;
    }
    pending = NOTHING;
    if (bytes[bytes.length - 2] !== CR) {
      fail("a line ends without CR");
      return null;
    }
    return { line: bytes.toString("latin1", 0, bytes.length - 2), end: newline + 1 };
  }

  function take(chunk: Buffer, at: number): number {
    switch (state) {
      case "idle":
        fail("bytes arrived without a request");
        return -1;
      case "head":
        return readHead(chunk, at);
      case "length":
      case "chunk": {
        const size = Math.min(left, chunk.length - at);
        left -= size;
        sink?.body(at === 0 && size === chunk.length ? chunk : chunk.subarray(at, at + size));
        if (left === 0 && state === "length") finish(at + size);
        else if (left === 0 && state === "chunk") state = "chunk-end";
        return at + size;
      }
      case "until-end":
        sink?.body(at === 0 ? chunk : chunk.subarray(at));
        return chunk.length;
      case "chunk-line": {
        const read = readLine(chunk, at, MAX_CHUNK_LINE_BYTES);
        if (read === null) return -1;
        const match = CHUNK_LINE.exec(read.line);
        if (match === null) {
          fail("a chunk has no length");
          return -1;
        }
        left = Number.parseInt(match[1], 16);
        trailer = 0;
        state = left === 0 ? "trailer" : "chunk";
        return read.end;
      }
      case "chunk-end": {
        const read = readLine(chunk, at, 2);
        if (read === null) return -1;
        state = "chunk-line";
        return read.end;
      }
      case "trailer": {
        const read = readLine(chunk, at, MAX_TRAILER_BYTES);
        if (read === null) return -1;
        trailer += read.line.length;
        if (read.line === "") finish(read.end);
        else if (trailer > MAX_TRAILER_BYTES) fail("the trailer is too long");
        return read.end;
      }
      case "dead":
        return -1;
    }
  }

  return {
    expect(listener, requestMethod) {
      if (state === "dead") return listener.fault("the connection closed");
      sink = listener;
      method = requestMethod;
      state = "head";
      reusable = true;
    },
    push(chunk) {
      let steps = 0;
      end = chunk.length;
      for (let at = 0; at >= 0 && at < chunk.length; steps++) at = take(chunk, at);
      return steps;
    },
    end(isBroken = false) {
      // A body without a length is complete when the connection ends, but not if it ends with an error.
      if (state === "until-end" && !isBroken) finish(end);
      else if (sink !== null) fail("the connection closed");
      state = "dead";
    },
  };
}

// RFC 9112, 7.1.1: a length and extensions, without the bad whitespace (BWS) of the grammar. llhttp refuses it, too.
const CHUNK_LINE = /^([0-9a-fA-F]{1,12})(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[^"\\]|\\.)*"))?)*$/;

const NOTHING = Buffer.alloc(0);
const HEAD_END = Buffer.from("\r\n\r\n");
const LF = 0x0a;
const CR = 0x0d;
