import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { AuditEvent } from "../../src/record/event.ts";
import {
  becomes,
  beginEvents,
  beNear,
  type Knock,
  type NearClient,
  replyWith,
  resultFor,
  type ScriptedServer,
  startScripted,
} from "../support/scripted-http.ts";

vi.setConfig({ testTimeout: 30_000 }); // on a machine that may be busy

let server: ScriptedServer;
let client: NearClient;

async function open(answer: (knock: Knock) => boolean | void, options: object = {}): Promise<void> {
  server = await startScripted(answer);
  client = await beNear({ upstream: server.url, ...options });
}

afterEach(async () => {
  client.proxy.stop();
  await client.proxy.ended;
  await server.close();
});

const posted = (): string[] =>
  server.knocks.filter(({ method }) => method === "POST").map(({ message }) => message.method ?? "an answer");

const progress = (step: number, message = ""): object => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: step, message },
});

const event = (message: object, fields = ""): string => `${fields}data: ${JSON.stringify(message)}\n\n`;

test("what has no answer is taken before what comes behind it is sent", async () => {
  const taken: string[] = [];
  await open(({ message, response }) => {
    if (message.method !== "notifications/progress") return false;
    setTimeout(() => {
      taken.push(String(message.params?.["progress"]));
      response.writeHead(202).end();
    }, 50);
    return true;
  });
  await client.begin();
  client.say(progress(1), progress(2));
  await client.ask({ id: 1, method: "ping" });
  expect(taken).toEqual(["1", "2"]);
  expect(posted().slice(2)).toEqual(["notifications/progress", "notifications/progress", "ping"]);
});

test("requests do not wait for each other", async () => {
  await open(({ message }) => message.method === "tools/call" && message.id === 1);
  await client.begin();
  client.say({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: {} } });
  await client.ask({ id: 2, method: "ping" });
});

test("a stream that ends with an id and a time to wait is taken up, and the answer arrives", async () => {
  await open(({ method, message, headers, response }) => {
    if (message.method === "tools/call") {
      beginEvents(response)("id: e1\nretry: 30\ndata: \n\n");
      response.end();
    } else if (method === "GET" && headers["last-event-id"] === "e1") {
      beginEvents(response)(event({ jsonrpc: "2.0", id: 1, result: { polled: true } }, "id: e2\n"));
      response.end();
    } else return false;
    return true;
  });
  await client.begin();
  const call = { id: 1, method: "tools/call", params: { name: "echo", arguments: {} } };
  expect(await client.ask(call)).toMatchObject({ result: { polled: true } });
});

test("a server that closes again and again is asked again and again, with the last id", async () => {
  let rounds = 0;
  await open(({ method, message, headers, response }) => {
    if (message.method !== "tools/call" && headers["last-event-id"] === undefined) return false;
    if (method === "GET") expect(headers["last-event-id"]).toBe(`e${rounds}`);
    const say = beginEvents(response);
    if (rounds === 3) say(event({ jsonrpc: "2.0", id: 1, result: {} }));
    else say(`id: e${++rounds}\nretry: 10\ndata: \n\n`);
    response.end();
    return true;
  });
  await client.begin();
  await client.ask({ id: 1, method: "tools/call", params: { name: "echo", arguments: {} } });
  expect(rounds).toBe(3);
});

test("a stream that breaks off without an id: whoever waits is told", async () => {
  await open(({ message, response }) => {
    if (message.method !== "tools/call") return false;
    beginEvents(response)(": begun\n\n");
    setTimeout(() => response.destroy(), 20);
    return true;
  });
  await client.begin();
  const answer = await client.ask({ id: 1, method: "tools/call", params: { name: "echo", arguments: {} } });
  expect(answer.error).toEqual({ code: -32000, message: "Connection closed" });
});

test("a server that forgot the session is greeted anew with the client's own words, and nobody notices", async () => {
  let current = 0;
  const streams: string[] = [];
  await open(({ method, message, headers, response }) => {
    const session = headers["mcp-session-id"];
    if (message.method === "initialize") {
      replyWith(response, resultFor(message), { "Mcp-Session-Id": `s${++current}` });
      return true;
    }
    if (session !== `s${current}`) {
      replyWith(response, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } }, {}, 404);
      return true;
    }
    if (method !== "GET") return false;
    streams.push(session);
    beginEvents(response);
    return true;
  });
  await client.begin();
  await client.ask({ id: 1, method: "ping" });
  await becomes(() => streams.length === 1);
  current = 7; // as if it had been started anew
  const answers = await Promise.all([2, 3, 4].map((id) => client.ask({ id, method: "ping" })));
  for (const answer of answers) expect(answer).toMatchObject({ result: {} });
  expect(client.heard).toEqual([]);
  const greetings = server.knocks.filter(({ message }) => message.method === "initialize");
  expect(greetings.length).toBe(2);
  expect(greetings[1].body).toBe(greetings[0].body);
  await becomes(() => streams.join() === "s1,s8");
  expect(posted().filter((method) => method === "notifications/initialized").length).toBe(2);
});

test("a server that knows no session at all is not greeted for ever", async () => {
  await open(({ message, headers, response }) => {
    if (message.method !== "ping" || headers["mcp-session-id"] === undefined) return false;
    replyWith(response, {}, {}, 404);
    return true;
  });
  await client.begin();
  const answer = await client.ask({ id: 1, method: "ping" });
  expect(answer.error?.message).toBe("The server answered with status 404");
  expect(posted().filter((method) => method === "initialize").length).toBe(2);
});

test("the stream for what is said unasked is opened again where it ended, from the last id on", async () => {
  const from: unknown[] = [];
  await open(({ method, headers, response }) => {
    if (method !== "GET") return false;
    from.push(headers["last-event-id"]);
    const notice = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: from.length } };
    beginEvents(response)(event(notice, `id: n${from.length}\nretry: 20\n`));
    if (from.length < 3) response.end();
    return true;
  });
  await client.begin();
  await client.hear(({ params }) => params?.["data"] === 3);
  expect(from).toEqual([undefined, "n1", "n2"]);
});

test("since 2026-07-28 a request is cancelled by leaving it, and the headers say what the body says", async () => {
  let isLeft = false;
  await open(({ message, response }) => {
    if (message.id !== "slow") return false;
    beginEvents(response)(": here\n\n");
    response.on("close", () => (isLeft = true));
    return true;
  });
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const params = { name: "ec\u{e9}ho", arguments: {}, _meta: meta };
  client.say({ jsonrpc: "2.0", id: "slow", method: "tools/call", params });
  await becomes(() => server.knocks.length === 1);
  await delay(20);
  client.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "slow" } });
  await becomes(() => isLeft);
  const { headers } = server.knocks[0];
  expect(headers).toMatchObject({
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": `=?base64?${Buffer.from("ec\u{e9}ho").toString("base64")}?=`,
  });
  expect(posted()).toEqual(["tools/call"]);
  expect(client.heard).toEqual([]);
});

test("a client that has said all it wants still gets its answers", async () => {
  await open(({ message, response }) => {
    if (message.method !== "tools/call") return false;
    setTimeout(() => replyWith(response, resultFor(message)), 200);
    return true;
  });
  await client.begin();
  client.say({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { a: 1 } } });
  client.input.end();
  expect(await client.hear(({ id }) => id === 1)).toMatchObject({ result: { echoed: { a: 1 } } });
  expect(await client.proxy.ended).toMatchObject({ code: 0, lost: false });
});

test("a client that says more than the server takes is made to wait", async () => {
  const held: Knock[] = [];
  await open((knock) => {
    if (knock.message.method !== "notifications/progress") return false;
    held.push(knock);
    return true;
  });
  await client.begin();
  const notice = JSON.stringify(progress(1, "x".repeat(10_000)));
  let written = 0;
  while (written < 2000 && client.input.write(`${notice}\n`)) {
    written++;
    await new Promise(setImmediate);
  }
  expect(written).toBeLessThan(1000); // ten megabytes at the most, of which one is kept
  expect(held.length).toBe(1);
});

test.each([
  ["is shorter than it said", "Content-Length: 1000\r\n\r\n", ""],
  ["comes in chunks without end", "Transfer-Encoding: chunked\r\n\r\n2b\r\n", "\r\n"],
])("a body that %s is no answer, also where it can be read", async (_, before, after) => {
  await open(({ message, response }) => {
    if (message.method !== "tools/call") return false;
    const body = '{"jsonrpc":"2.0","id":1,"result":{"a":"b"}}';
    response.socket?.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${before}${body}${after}`);
    return true;
  });
  await client.begin();
  const answer = await client.ask({ id: 1, method: "tools/call", params: { name: "echo", arguments: {} } });
  expect(answer).toMatchObject({ error: { code: -32000, message: "Connection closed" } });
});

describe("a server that answers with a body where none is wanted", () => {
  const bodies = ["null", "{}", '"ok"', "[]", "true"];

  test.each(bodies)("with 202 and %s is not answered, and nothing is logged as refused", async (body) => {
    const events: AuditEvent[] = [];
    const said: string[] = [];
    await open(
      ({ message, response }) => {
        said.push(message.method ?? JSON.stringify(message));
        if (message.method !== "notifications/progress") return false;
        response.writeHead(202, { "Content-Type": "application/json" }).end(body);
        return true;
      },
      { audit: (event: AuditEvent) => void events.push(event) },
    );
    await client.begin();
    await client.ask({ id: 0, method: "ping" });
    said.length = 0;
    client.say(progress(1));
    await client.ask({ id: 1, method: "ping" });
    await client.ask({ id: 2, method: "ping" });
    expect(said).toEqual(["notifications/progress", "ping", "ping"]);
    expect(events.filter(({ verdict }) => verdict === "deny" || verdict === "drop")).toEqual([]);
  });

  test.each(["null", "{}", "[]", '{"jsonrpc":"2.0","id":null,"result":{}}'])(
    "to a request: with %s whoever waits hears it, and the server is not answered",
    async (body) => {
      const said: string[] = [];
      await open(({ message, response }) => {
        said.push(message.method ?? JSON.stringify(message));
        if (message.method !== "tools/call") return false;
        response.writeHead(message.id === 1 ? 202 : 200, { "Content-Type": "application/json" }).end(body);
        return true;
      });
      await client.begin();
      await client.ask({ id: 0, method: "ping" });
      said.length = 0;
      const params = { name: "echo", arguments: {} };
      for (const id of [1, 2]) {
        expect(await client.ask({ id, method: "tools/call", params })).toMatchObject({ error: { code: -32000 } });
      }
      await client.ask({ id: 3, method: "ping" });
      expect(said).toEqual(["tools/call", "tools/call", "ping"]);
    },
  );
});
