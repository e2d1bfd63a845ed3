import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { ConnectionError } from "../../../src/errors.ts";
import { parseAddress } from "../../../src/link/upstream/address.ts";
import { createPool, type Pool, type UpstreamCall, type UpstreamRequest } from "../../../src/link/upstream/pool.ts";
import { becomes } from "../../support/scripted-http.ts";

let server: Server;
let pool: Pool;

afterEach(async () => {
  pool.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

const sockets: Socket[] = [];

/** Starts a server that answers the nth request on a connection by hand, and a pool of connections to it. */
async function begin(answer: (socket: Socket, nth: number, request: string) => void): Promise<void> {
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
  pool = createPool(address, { timeoutMs: 5000, ca: null, env: {} }, () => {});
}

interface Heard {
  readonly call: UpstreamCall;
  readonly body: () => string;
  readonly isDone: () => boolean;
  readonly error: () => ConnectionError | null;
}

const GET: UpstreamRequest = { method: "GET", path: "/mcp", headers: "", body: null };

/** Sends a request. `onBody` is told of every piece of the body. */
function send(onBody: (call: UpstreamCall) => void = () => {}, onDone: () => void = () => {}): Heard {
  let text = "";
  let isDone = false;
  let error: ConnectionError | null = null;
  const call = pool.send(GET, {
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
