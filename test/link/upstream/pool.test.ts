import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { ConnectionError } from "../../../src/errors.ts";
import { parseAddress } from "../../../src/link/upstream/address.ts";
import {
  createPool,
  type Pool,
  type PoolOptions,
  type UpstreamCall,
  type UpstreamRequest,
} from "../../../src/link/upstream/pool.ts";
import { settledMemory } from "../../support/memory.ts";
import { becomes } from "../../support/scripted-http.ts";

let server: Server;
let pool: Pool;
let shortages: string[];

afterEach(async () => {
  pool.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

const sockets: Socket[] = [];

/** Starts a server that answers the nth request on a connection by hand, and a pool of connections to it. */
async function begin(
  answer: (socket: Socket, nth: number, request: string) => void,
  options: Partial<PoolOptions> = {},
): Promise<void> {
  server = createServer((socket) => {
    sockets.push(socket);
    let nth = 0;
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => answer(socket, ++nth, chunk.toString("latin1")));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = parseAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  shortages = [];
  const onShortage = (detail: string): void => void shortages.push(detail);
  pool = createPool(address, { timeoutMs: 5000, ca: null, env: {}, onShortage, ...options }, () => {});
}

interface Heard {
  readonly call: UpstreamCall;
  readonly body: () => string;
  readonly isDone: () => boolean;
  readonly error: () => ConnectionError | null;
}

const GET: UpstreamRequest = { method: "GET", path: "/mcp", headers: "", body: null };
const POST: UpstreamRequest = { method: "POST", path: "/mcp", headers: "", body: Buffer.from("{}") };

/** Sends a request. `onBody` is told of every piece of the body. */
function send(
  onBody: (call: UpstreamCall) => void = () => {},
  onDone: () => void = () => {},
  request: UpstreamRequest = GET,
): Heard {
  let text = "";
  let isDone = false;
  let error: ConnectionError | null = null;
  const call = pool.send(request, {
    head: () => {},
    body(bytes) {
      text += bytes.toString("latin1");
      onBody(call);
    },
    done() {
      isDone = true;
      onDone();
    },
    failed: (reason) => (error = reason),
  });
  return { call, body: () => text, isDone: () => isDone, error: () => error };
}

function respond(body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

test("a connection that was paused when its response ended reads the response to the next request", async () => {
  await begin((socket, nth) => socket.write(respond(`response ${nth}`)));
  const first = send((call) => call.pause());
  await becomes(first.isDone);
  const second = send();
  await becomes(second.isDone);
  expect(second.body()).toBe("response 2");
  expect(sockets).toHaveLength(1);
});

test("a request that was paused before it had a connection is paused on the connection it gets", async () => {
  await begin((socket) => socket.write(respond("late")));
  const { call, isDone, body } = send();
  call.pause();
  await becomes(() => sockets.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(body()).toBe("");
  call.resume();
  await becomes(isDone);
  expect(body()).toBe("late");
});

test("resuming a request that is over does not touch the connection's next request", async () => {
  await begin((socket, nth) => socket.write(respond(`response ${nth}`)));
  const first = send((call) => call.pause());
  await becomes(first.isDone);
  const second = send();
  second.call.pause();
  first.call.resume();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(second.body()).toBe("");
  second.call.resume();
  await becomes(second.isDone);
});

test("what a server sends unasked is not taken for the response to a request that follows at once", async () => {
  await begin((socket, nth) => {
    if (sockets.length > 1 || nth > 1) return void socket.write(respond(`response ${nth}`));
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
    setTimeout(() => socket.write("-half"), 20);
    setTimeout(() => socket.write(respond("unasked")), 40);
  });
  // While it is paused, both the rest of its response and what nobody asked for arrive.
  let isPaused = false;
  let second: Heard | null = null;
  send(
    (call) => {
      if (isPaused) return;
      isPaused = true;
      call.pause();
      setTimeout(() => call.resume(), 100);
    },
    () => (second = send()),
  );
  await becomes(() => second?.isDone() === true);
  expect((second as Heard | null)?.body()).toBe("response 1");
  expect(sockets).toHaveLength(2);
});

test("a response that comes before its request has left is not taken for the response to it", async () => {
  await begin((socket, nth) => socket.write(respond(`response ${nth}`)));
  await becomes(send().isDone);
  const second = await new Promise<Heard>((resolve) => {
    // From a timer, sockets are read before messages leave, which they do together.
    setTimeout(() => {
      sockets[0].write(respond("unasked"));
      resolve(send(undefined, undefined, POST));
    });
  });
  await becomes(() => second.isDone() || second.error() !== null);
  expect([second.body(), second.error()?.code]).toEqual(["", "INVALID_RESPONSE"]);
  const third = send(undefined, undefined, POST);
  await becomes(third.isDone);
  expect(third.body()).toBe("response 1");
});

describe("a body", () => {
  const large = Buffer.alloc(8 * 1024 * 1024, "x");

  test("that the server does not read has not left", async () => {
    await begin((socket, nth) => void (nth === 1 && socket.pause()));
    let isSent = false;
    const { call } = send(undefined, undefined, { ...POST, body: large, onSent: () => (isSent = true) });
    await becomes(() => sockets.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isSent).toBe(false);
    sockets[0].resume();
    await becomes(() => isSent);
    call.abort();
  });

  test("that has left is not kept while the response is waited for", async () => {
    await begin(() => {});
    let isSent = false;
    let body: Buffer | null = Buffer.from(large);
    const { call } = send(undefined, undefined, { ...POST, body, onSent: () => (isSent = true) });
    await becomes(() => isSent);
    const before = settledMemory().arrayBuffers;
    body = null;
    await becomes(() => settledMemory().arrayBuffers < before - 0.9 * large.length);
    call.abort();
  });
});

function ofClient(client: string): Heard {
  return send(undefined, undefined, { ...GET, client });
}

describe("where all connections are in use", () => {
  test("a request fails at once, and it is said why; when one is over there is room", async () => {
    await begin(() => {}, { maxConnections: 2 });
    const [one] = [send(), send()];
    const third = send();
    await becomes(() => third.error() !== null);
    expect([third.error()?.code, shortages]).toEqual(["NO_ROOM", ["all connections to the server are in use"]]);
    one.call.abort();
    const fourth = send();
    await becomes(() => sockets.length === 3);
    expect(fourth.error()).toBeNull();
  });

  test("one client has three quarters of them, and the last ones are for others", async () => {
    await begin(() => {}, { maxConnections: 8 });
    const greedy = Array.from({ length: 7 }, () => ofClient("greedy"));
    const other = ofClient("other");
    await becomes(() => sockets.length === 7);
    expect(greedy.map(({ error }) => error()?.code)).toEqual([...Array<undefined>(6).fill(undefined), "NO_ROOM"]);
    expect(other.error()).toBeNull();
  });

  test("an answer, a failure and a withdrawal each give the place back once", async () => {
    await begin(
      (socket, nth, request) => {
        if (request.startsWith("GET /answer")) socket.write(respond(`${nth}`));
        else if (request.startsWith("GET /reset")) socket.resetAndDestroy();
      },
      { maxConnections: 1 },
    );
    for (const path of ["/answer", "/reset", "/never", "/answer", "/never", "/reset", "/answer"]) {
      const { call, isDone, error } = send(undefined, undefined, { ...GET, path });
      if (path === "/never") await new Promise((resolve) => setTimeout(resolve, 20));
      else await becomes(() => isDone() || error() !== null);
      expect(error()?.code).not.toBe("NO_ROOM");
      call.abort();
      call.abort();
    }
  });
});

test("a server that closes an idle connection that was paused is noticed", async () => {
  await begin((socket, nth) => socket.write(respond(`response ${nth}`)));
  const first = send((call) => call.pause());
  await becomes(first.isDone);
  const [kept] = sockets;
  kept.end();
  await becomes(() => kept.destroyed);
});

test("a response that goes on until the connection ends is not whole where the connection is reset", async () => {
  await begin((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\nhalf of it");
    setTimeout(() => socket.resetAndDestroy(), 50);
  });
  const { isDone, error, body } = send();
  await becomes(() => isDone() || error() !== null);
  expect(body()).toBe("half of it");
  expect(error()?.code).toBe("INVALID_RESPONSE");
});
