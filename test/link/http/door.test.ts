import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { Door, DoorOptions } from "../../../src/link/http/door.ts";
import { replyEmpty, replyError, urge } from "../../../src/link/http/reply.ts";
import { openTestDoor } from "../../support/door.ts";
import { ask, converse, dial, follow, write } from "../../support/raw-http.ts";

let door: Door | null = null;
const troubles: string[] = [];

afterEach(() => {
  door?.close();
  door = null;
  troubles.length = 0;
});

async function openOne(options: Partial<DoorOptions> = {}): Promise<Door> {
  door = await openTestDoor({ onTrouble: (rule) => troubles.push(rule), ...options });
  return door;
}

const hurried = { head: 200, request: 400, between: 300, check: 50 };

test("who is slow with the head of a request is sent away", async () => {
  const { port } = await openOne({ times: hurried });
  const started = performance.now();
  const [answer] = await converse({ port }, ["POST /mcp HTTP/1.1\r\nHost: local"]);
  expect(answer.status).toBe(408);
  expect(performance.now() - started).toBeGreaterThan(150);
  expect(performance.now() - started).toBeLessThan(3000);
});

test("who says nothing at all, as well", async () => {
  const { port } = await openOne({ times: hurried });
  const started = performance.now();
  await converse({ port }, []);
  expect(performance.now() - started).toBeLessThan(3000);
});

test("who is slow with the body is sent away, however busy the drops", async () => {
  let bodies = 0;
  const { port } = await openOne({
    times: hurried,
    onVisit: ({ request }) => request.resume().on("end", () => bodies++),
  });
  const socket = await dial({ port });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const started = performance.now();
  socket.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n");
  const drip = setInterval(() => socket.write("x"), 20);
  await closed;
  clearInterval(drip);
  expect(bodies).toBe(0);
  expect(performance.now() - started).toBeLessThan(3000);
});

test("who is done and stays is sent away, who waits for an answer is not", async () => {
  const { port } = await openOne({
    times: hurried,
    onVisit: ({ response, path }) => void setTimeout(() => replyEmpty(response, 202, []), path === "/slow" ? 1000 : 0),
  });
  const slow = await ask({ port }, { target: "/slow", body: "" });
  expect(slow.status).toBe(202);
  const socket = await dial({ port });
  socket.write(write({ body: "" }));
  await follow(socket).then((answer) => answer.ended());
  const started = performance.now();
  await new Promise((resolve) => socket.once("close", resolve));
  expect(performance.now() - started).toBeLessThan(3000);
});

test("only so many may be connected, and somebody hears of it", async () => {
  const { port } = await openOne({ maxConnections: 2 });
  const [one, other] = [await dial({ port }), await dial({ port })];
  one.write(write({ body: "" }));
  expect((await follow(one)).status).toBe(202);
  expect(await converse({ port }, [write({ body: "" })])).toEqual([]);
  expect(troubles).toContain("http:connections");
  other.destroy();
  await delay(50);
  expect((await ask({ port }, { body: "" })).status).toBe(202);
  one.destroy();
});

test("a visit that stands is not waited for; the others are", async () => {
  const { port } = await openOne({
    onVisit({ response, path, stands }) {
      if (path === "/stands") stands();
      response.writeHead(200).flushHeaders();
      if (path === "/works") setTimeout(() => response.end(), 300);
    },
  });
  const standing = await dial({ port });
  standing.write(write({ target: "/stands", body: "" }));
  await follow(standing);
  const working = await dial({ port });
  working.write(write({ target: "/works", body: "" }));
  await follow(working);
  const started = performance.now();
  await door?.answered();
  expect(performance.now() - started).toBeGreaterThan(200);
  expect(performance.now() - started).toBeLessThan(3000);
  standing.destroy();
});

test("when all are to leave, what comes on a kept connection is the last on it", async () => {
  const { port } = await openOne({
    onVisit: ({ response, path }) => void setTimeout(() => replyEmpty(response, 202, []), path === "/slow" ? 300 : 0),
  });
  const socket = await dial({ port });
  const over = new Promise((resolve) => socket.once("close", resolve));
  let heard = "";
  socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1")));
  socket.write(write({ target: "/slow", body: "" }));
  await delay(50);
  const drained = door?.drain();
  socket.write(write({ target: "/next", body: "" }));
  socket.write(write({ target: "/never", body: "" }));
  await over;
  await drained;
  expect(heard.match(/HTTP\/1.1 202/g)).toHaveLength(2);
  expect(heard.match(/Connection: close/gi)).toHaveLength(1);
});

test("a refusal is read by who is still sending, also where the connection closes behind it", async () => {
  const { port } = await openOne({
    onVisit: ({ response }) => replyError(response, 415, { code: 1, message: "no" }, null),
  });
  for (let round = 0; round < 5; round++) {
    const answer = await ask({ port }, { body: Buffer.alloc(5 << 20, "x") });
    expect(answer.status).toBe(415);
  }
});

test("who asks for much and takes none of it is cut off; who takes it slowly is not", async () => {
  const large = Buffer.alloc(8 << 20, "x");
  const { port } = await openOne({
    onVisit({ response }) {
      urge(response, large.length, 300);
      response.writeHead(200, { "Content-Length": large.length });
      response.end(large);
    },
  });
  const lazy = await dial({ port });
  lazy.pause();
  lazy.write(write({ body: "" }));
  await delay(1500);
  let taken = 0;
  lazy.on("data", (chunk: Buffer) => (taken += chunk.length));
  await new Promise((resolve) => lazy.resume().once("close", resolve));
  expect(taken).toBeLessThan(large.length);

  const slow = await dial({ port });
  let size = 0;
  slow.on("data", (chunk: Buffer) => {
    size += chunk.length;
    slow.pause();
    setTimeout(() => slow.resume(), 5);
  });
  slow.write(write({ body: "", headers: [["Connection", "close"]] }));
  await new Promise((resolve) => slow.once("close", resolve));
  expect(size).toBeGreaterThan(large.length);
});

test("a port of a host that is not ours is refused in words", async () => {
  await expect(openOne({ host: "192.0.2.1" })).rejects.toMatchObject({
    code: "CANNOT_LISTEN",
    message: "Not an address of this machine: 192.0.2.1:0",
  });
});
