import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Connection, createConnection, hold } from "../../../src/link/upstream/connection.ts";

const HEAD = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/** What one read of a socket brings where every byte is a chunk. */
const TINY = "1\r\nx\r\n".repeat(5000);
const END = "0\r\n\r\n";

interface Opened extends Connection {
  /** Something arrives in one read. */
  readonly arrives: (text: string) => void;
  /** Bytes of the body that were handed on. */
  readonly read: () => number;
}

/** A connection whose request was sent. `onBody` is told of every piece of the body. */
function open(onBody: (connection: Connection) => void = () => {}): Opened {
  const socket = new Duplex({ read() {}, highWaterMark: 65_536 });
  const connection = createConnection(socket as unknown as Socket);
  let bytes = 0;
  connection.reader.expect(
    {
      head: () => {},
      body(piece) {
        bytes += piece.length;
        onBody(connection);
      },
      done: () => (connection.isIdle = true),
      fault: (reason) => expect.unreachable(reason),
    },
    "GET",
  );
  return Object.assign(connection, { arrives: (text: string) => void socket.push(text, "latin1"), read: () => bytes });
}

test("after a read of thousands of tiny chunks the rest is read when others had their turn, and nothing is lost", async () => {
  const { arrives, read } = open();
  await nextTurn();
  arrives(HEAD + TINY);
  for (const more of [TINY, TINY, END]) arrives(more);
  const turns = [read()];
  for (let turn = 0; turn < 10; turn++) {
    await nextTurn();
    turns.push(read());
  }
  expect([...new Set(turns)]).toEqual([5000, 10_000, 15_000]);
});

test("a request that holds its connection during such a read is not read on, until it wants to be", async () => {
  const opened = open((connection) => {
    if (!connection.isHeld) hold(connection, true);
  });
  await nextTurn();
  opened.arrives(HEAD + TINY);
  opened.arrives(TINY);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect([opened.read(), opened.socket.isPaused()]).toEqual([5000, true]);
  hold(opened, false);
  await nextTurn();
  await nextTurn();
  expect(opened.read()).toBe(10_000);
});

test("a request that holds its connection while others have their turn is not read on", async () => {
  const opened = open();
  await nextTurn();
  opened.arrives(HEAD + TINY);
  opened.arrives(TINY);
  hold(opened, true);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect([opened.read(), opened.socket.isPaused()]).toEqual([5000, true]);
});

test("a connection whose response ends in such a read is idle, and not paused", async () => {
  const opened = open();
  await nextTurn();
  opened.arrives(HEAD + TINY + END);
  expect([opened.read(), opened.isIdle, opened.socket.isPaused()]).toEqual([5000, true, false]);
});

test("reads of ordinary responses do not pause the connection", async () => {
  const opened = open();
  let pauses = 0;
  opened.socket.on("pause", () => pauses++);
  await nextTurn();
  opened.arrives(HEAD + `100\r\n${"x".repeat(256)}\r\n`.repeat(256));
  expect([opened.read(), pauses]).toEqual([65_536, 0]);
});
