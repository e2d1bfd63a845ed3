import { connect } from "node:net";

/** A connection to an HTTP server for one request at a time, without Node's HTTP code. */
export interface Connection {
  /** Sends a request and calls back with the complete response. */
  send(request: string, hear: (answer: Answer) => void): void;
  /** Sends a request and calls back when the head of the response has arrived. */
  open(request: string, hear: (answer: Answer) => void): void;
  close(): void;
}

/** A response: its head, and everything after it, including chunk headers. */
export interface Answer {
  readonly head: string;
  readonly pieces: readonly Buffer[];
}

/** Connects. Rejects if nothing listens on the port. */
export function openConnection(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const answers = createAnswers();
    let hear: ((answer: Answer) => void) | null = null;
    let isOpening = false;
    let isClosed = false;

    function fail(what: string): void {
      if (!isClosed) throw new Error(`port ${port}: ${what}`);
    }

    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      socket.on("error", (error) => fail(error.message));
      socket.on("close", () => fail("the connection was closed"));
      const send = (request: string, next: (answer: Answer) => void): void => {
        hear = next;
        socket.write(request, "latin1");
      };
      resolve({
        send,
        open(request, next) {
          isOpening = true;
          send(request, next);
        },
        close() {
          isClosed = true;
          socket.destroy();
        },
      });
    });
    socket.on("data", (chunk) => {
      const answer = answers.push(chunk, isOpening);
      if (answer === null || hear === null) return;
      const waiting = hear;
      hear = null;
      waiting(answer);
    });
  });
}

/** Assembles responses. Fast for those that arrive in one chunk, and not quadratic for large ones. */
function createAnswers() {
  let head: string | null = null;
  let pieces: Buffer[] = [];
  let missing = 0; // bytes left of a body with a known length; infinite if the body has its own end marker
  let tail = "";

  function takeHead(chunk: Buffer): Buffer | null {
    const bytes = pieces.length === 0 ? chunk : Buffer.concat([...pieces, chunk]);
    const end = bytes.indexOf("\r\n\r\n");
    pieces = end < 0 ? [bytes] : [];
    if (end < 0) return null;
    const text = bytes.toString("latin1", 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    missing = length === undefined ? (isChunked(text) ? Infinity : 0) : Number(length);
    head = text;
    tail = "";
    return bytes.subarray(end + 4);
  }

  return {
    /** Takes a chunk. Returns the response when it is complete, or its head if that is enough. */
    push(chunk: Buffer, headOnly: boolean): Answer | null {
      const body = head === null ? takeHead(chunk) : chunk;
      if (body === null || head === null) return null;
      pieces.push(body);
      missing -= body.length;
      if (missing === Infinity && !headOnly) {
        const end = body.toString("latin1", Math.max(0, body.length - LAST_CHUNK.length));
        tail = (tail + end).slice(-LAST_CHUNK.length);
        if (tail === LAST_CHUNK || tail === NO_CHUNKS) missing = 0;
      }
      if (missing > 0 && !headOnly) return null;
      if (missing < 0) throw new Error("more came than was asked for");
      const answer = { head, pieces };
      head = null;
      pieces = [];
      return answer;
    },
  };
}

const LAST_CHUNK = "\r\n0\r\n\r\n";
const NO_CHUNKS = "0\r\n\r\n";

function isChunked(head: string): boolean {
  return /\r\ntransfer-encoding: *chunked/i.test(head);
}
