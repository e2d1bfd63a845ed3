import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { Door, DoorOptions, Visit } from "../../../src/link/http/door.ts";
import {
  createPipeline,
  MAX_PIPELINE_QUEUE,
  MAX_PIPELINED,
  MAX_QUEUED_REQUESTS,
} from "../../../src/link/http/pipeline.ts";
import { replyEmpty } from "../../../src/link/http/reply.ts";
import { openTestDoor } from "../../support/door.ts";
import { ask, dial, write } from "../../support/raw-http.ts";
import { becomes } from "../../support/scripted-http.ts";

let door: Door;
let troubles: string[];
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  door.close();
});

/** A door whose visits wait until they are answered by hand. */
async function begin(options: Partial<DoorOptions> = {}): Promise<{ open: Visit[]; closed: ServerResponse[] }> {
  const open: Visit[] = [];
  const closed: ServerResponse[] = [];
  troubles = [];
  door = await openTestDoor({
    onVisit(visit) {
      visit.request.resume();
      if (visit.path === "/other") return replyEmpty(visit.response, 202, []);
      open.push(visit);
      visit.response.on("close", () => {
        closed.push(visit.response);
        open.splice(open.indexOf(visit), 1);
      });
    },
    onTrouble: (rule) => troubles.push(rule),
    ...options,
  });
  return { open, closed };
}

/** Sends so many requests on one connection, one behind the other. Counts the answers. */
async function send(count: number, target = "/mcp"): Promise<{ socket: Socket; answers: () => number }> {
  const socket = await dial({ port: door.port });
  sockets.push(socket);
  let heard = "";
  socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1")));
  socket.write(write({ target, body: "x" }).toString("latin1").repeat(count));
  return { socket, answers: () => heard.split("HTTP/1.1 202").length - 1 };
}

describe("requests that come one behind the other on one connection", () => {
  test("are open up to a number, and the next one when one of them is over", async () => {
    const { open } = await begin();
    await send(MAX_PIPELINED + 1);
    await becomes(() => open.length === MAX_PIPELINED);
    expect((await ask({ port: door.port }, { target: "/other", body: "" })).status).toBe(202);
    expect(open).toHaveLength(MAX_PIPELINED);
    replyEmpty(open[0].response, 202, []);
    await becomes(() => open.length === MAX_PIPELINED);
  });

  test("are all answered, however many there are, and not read before their turn", async () => {
    await begin({
      onVisit({ request, response }) {
        request.resume();
        setTimeout(() => replyEmpty(response, 202, []), 1);
      },
    });
    const { answers } = await send(10_000);
    await becomes(() => answers() === 10_000, 20_000);
    expect(troubles).toEqual([]);
  }, 30_000);

  test("are all told that their connection closed", async () => {
    const { open, closed } = await begin();
    const { socket } = await send(MAX_PIPELINED);
    await becomes(() => open.length === MAX_PIPELINED);
    socket.destroy();
    await becomes(() => closed.length === MAX_PIPELINED);
    expect(closed.every(({ destroyed }) => destroyed)).toBe(true);
    await door.answered();
    expect(open).toEqual([]);
  });

  test("are told the same where others wait behind them, when one of them is answered", async () => {
    const { open } = await begin();
    const { socket } = await send(MAX_PIPELINED + 10);
    await becomes(() => open.length === MAX_PIPELINED);
    // Nothing is read from the connection, not even its end. An answer finds out that nobody is there.
    socket.resetAndDestroy();
    for (const { response } of open.slice(0, 3)) replyEmpty(response, 202, []);
    await becomes(() => open.length === 0);
    await door.answered();
  });
});

test("a connection on which more requests wait than may is closed, and the others are served", () => {
  let troubled = 0;
  let entered = 0;
  const pass = createPipeline({ enter: () => entered++, leave: () => {}, excess: () => troubled++, waitMs: 60_000 });
  const [greedy, other] = [new Socket(), new Socket()];
  const enter = (socket: Socket): boolean => {
    const before = entered;
    const request = new IncomingMessage(socket);
    pass(request, new ServerResponse(request));
    return entered > before;
  };
  const most = MAX_PIPELINED + MAX_PIPELINE_QUEUE;
  const ins = Array.from({ length: most }, () => enter(greedy)).filter((isIn) => isIn);
  expect([ins.length, greedy.destroyed, troubled]).toEqual([MAX_PIPELINED, false, 0]);
  enter(greedy);
  expect([greedy.destroyed, troubled, enter(other)]).toEqual([true, 1, true]);
  other.destroy();
});

test("only so many requests wait on all connections together", async () => {
  const pass = createPipeline({ enter: () => {}, leave: () => {}, excess: () => {}, waitMs: 60_000 });
  const crowd = Array.from({ length: MAX_QUEUED_REQUESTS / MAX_PIPELINE_QUEUE + 1 }, () => new Socket());
  for (const socket of crowd) {
    for (let nth = 0; nth < MAX_PIPELINED + MAX_PIPELINE_QUEUE; nth++) {
      const request = new IncomingMessage(socket);
      pass(request, new ServerResponse(request));
    }
  }
  const last = crowd.at(-1);
  expect(crowd.map(({ destroyed }) => destroyed)).toEqual(crowd.map((socket) => socket === last));
  for (const socket of crowd) socket.destroy();
  await becomes(() => crowd.every(({ closed }) => closed));
});

test("a connection on which requests wait is closed when none of them had its turn for too long", async () => {
  const { open } = await begin({ times: { head: 100, request: 200, between: 65_000, check: 5000 } });
  const { socket } = await send(MAX_PIPELINED + 10);
  await becomes(() => open.length === MAX_PIPELINED);
  // Nobody notices that the client leaves: its connection is not read while requests wait, and nothing is answered.
  socket.resetAndDestroy();
  await becomes(() => open.length === 0);
  expect(troubles).toEqual(["http:pipeline"]);
  await door.answered();
});

test("a connection on which requests wait stays open while they have their turn, however long all of it takes", async () => {
  const { open } = await begin({ times: { head: 100, request: 300, between: 65_000, check: 5000 } });
  const { socket, answers } = await send(MAX_PIPELINED + 6);
  for (let nth = 1; nth <= 6; nth++) {
    await becomes(() => open.length === MAX_PIPELINED);
    await new Promise((resolve) => setTimeout(resolve, 100));
    replyEmpty(open[0].response, 202, []);
    await becomes(() => answers() === nth);
  }
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect([socket.closed, open.length, troubles]).toEqual([false, MAX_PIPELINED, []]);
});

describe("requests of one client that are open", () => {
  test("are refused when they are three quarters of all, with the time to come again; others still get in", async () => {
    const { open } = await begin({ maxConnections: 16, identityHeader: "x-user" });
    const socket = await dial({ port: door.port });
    sockets.push(socket);
    let heard = "";
    socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1")));
    const greedy = write({ body: "", headers: [["X-User", "greedy"]] }).toString("latin1");
    socket.write(greedy.repeat(13));
    await becomes(() => open.length === 12 && troubles.includes("http:requests"));
    const other = await dial({ port: door.port });
    sockets.push(other);
    other.write(write({ body: "", headers: [["X-User", "other"]] }));
    await becomes(() => open.length === 13);
    for (const { response } of open.slice()) replyEmpty(response, 202, []);
    await becomes(() => heard.includes("HTTP/1.1 503"));
    expect(heard).toMatch(/Retry-After: 1\r\n/);
    expect(heard).toContain('"message":"Too many requests at once"');
  });
});

test("one address has at most three quarters of the connections", async () => {
  const { open } = await begin({ maxConnections: 8 });
  for (let nth = 0; nth < 8; nth++) await send(1);
  await becomes(() => open.length === 6 && troubles.length === 2);
  expect(troubles).toEqual(["http:connections", "http:connections"]);
});
