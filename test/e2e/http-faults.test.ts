import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Gateway, refuseToStart, startGateway, stopGateways } from "../support/gateway.ts";
import { type Answer, ask, type Headers, open, type Stream } from "../support/raw-http.ts";
import { type Heard, type ScriptedServer, startScripted } from "../support/scripted-server.ts";
import { startSse } from "../support/sse-server.ts";

const JSON_BOTH: Headers = [
  ["Content-Type", "application/json"],
  ["Accept", "application/json, text/event-stream"],
];
const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';
const CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe_tool","arguments":{}}}';
const GOOD = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}';
/** What no client may ever see. */
const SECRET = "SECRET-of-the-server";

let server: ScriptedServer;
let gateway: Gateway;
let session: Headers;
let stream: Stream;
let endpoint = "";

beforeAll(async () => {
  server = await startScripted();
  gateway = await startGateway(["--upstream", server.url, "--deny", "^denied_tool$"]);
});

/** Begins new sessions: the id of a request that was given up is not taken again in the same one. */
async function beginAnew(): Promise<void> {
  if (endpoint !== "") {
    await ask(gateway, { method: "DELETE", headers: session });
    stream.socket.destroy();
  }
  const opened = await ask(gateway, { body: HELLO, headers: JSON_BOTH });
  session = [...JSON_BOTH, ["Mcp-Session-Id", opened.headers["mcp-session-id"]]];
  stream = await open(gateway, { method: "GET", target: "/sse", headers: [["Accept", "text/event-stream"]] });
  await stream.hears("\n\n");
  endpoint = /data: (\S+)/.exec(stream.text())?.[1] ?? "";
  await ask(gateway, { target: endpoint, body: HELLO, headers: JSON_BOTH });
  await stream.hears('"id":0');
}

afterAll(() => {
  stopGateways();
  server.close();
});

beforeEach(async () => {
  server.script = undefined;
  await beginAnew();
  server.heard.length = 0;
});

/** A response whose length is right. */
function respond(status: string, headers: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`, "latin1"),
    bytes,
  ]);
}

const JSON_TYPE = "Content-Type: application/json\r\n";
const EVENT_TYPE = "Content-Type: text/event-stream\r\n";
const large = "x".repeat(10 * 1024 * 1024);
const event = (text: string): string => `event: message\ndata: ${text}\n\n`;
const result = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"text":"${SECRET}"}}`;
/** Bytes, and then the connection is reset. */
const thenReset =
  (bytes: string) =>
  ({ socket }: Heard): void => {
    if (bytes === "") socket.resetAndDestroy();
    else socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 20));
  };
const thenClose =
  (bytes: string) =>
  ({ socket }: Heard): void =>
    void socket.end(bytes);
const raw =
  (bytes: string | Buffer) =>
  (heard: Heard): void =>
    heard.write(bytes);

/** What a server may answer instead of an answer. */
const FAULTS: Record<string, (heard: Heard) => void> = {
  "500 with a page": raw(
    respond(`500 ${SECRET}`, `Content-Type: text/html\r\nServer: ${SECRET}\r\n`, `<h1>${SECRET}</h1>`),
  ),
  "503 with JSON of its own": raw(respond("503 Busy", JSON_TYPE, `{"error":"${SECRET}"}`)),
  "500 with nothing": raw(respond("500 Oops", "", "")),
  "404 with text": raw(respond("404 Not Found", "Content-Type: text/plain\r\n", SECRET)),
  "418 with a result": raw(respond("418 Teapot", "Content-Type: text/plain\r\n", result("7"))),
  "a page": raw(respond("200 OK", "Content-Type: text/html\r\n", `<!DOCTYPE html>${SECRET}`)),
  "JSON that says it is text": raw(respond("200 OK", "Content-Type: text/plain\r\n", result("7"))),
  "JSON that says nothing": raw(respond("200 OK", "", result("7"))),
  "JSON that is cut off": raw(respond("200 OK", JSON_TYPE, result("7").slice(0, -2))),
  "two values": raw(respond("200 OK", JSON_TYPE, result("7") + result("7"))),
  "a BOM": raw(respond("200 OK", JSON_TYPE, `\uFEFF${result("7")}`)),
  "UTF-16": raw(respond("200 OK", JSON_TYPE, Buffer.from(result("7"), "utf16le"))),
  "bytes that are no UTF-8": raw(respond("200 OK", JSON_TYPE, Buffer.from(result("7").replace("S", "\xff"), "latin1"))),
  "a number": raw(respond("200 OK", JSON_TYPE, "7")),
  "a list": raw(respond("200 OK", JSON_TYPE, `[${result("7")}]`)),
  "an object that is none": raw(respond("200 OK", JSON_TYPE, `{"tools":"${SECRET}"}`)),
  "keys twice": raw(respond("200 OK", JSON_TYPE, result("7").replace("{", '{"id":8,'))),
  nothing: raw(respond("200 OK", JSON_TYPE, "")),
  "202": raw(respond("202 Accepted", "", "")),
  "204": raw("HTTP/1.1 204 No Content\r\n\r\n"),
  "what is packed although nobody asked": raw(
    respond("200 OK", `${JSON_TYPE}Content-Encoding: gzip\r\n`, gzipSync(result("7"))),
  ),
  "events that are packed": raw(
    respond("200 OK", `${EVENT_TYPE}Content-Encoding: gzip\r\n`, gzipSync(event(result("7")))),
  ),
  "chunks that are none": raw(
    `HTTP/1.1 200 OK\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\nzz\r\n${SECRET}\r\n0\r\n\r\n`,
  ),
  "chunks in the middle of which it ends": thenClose(
    `HTTP/1.1 200 OK\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\nff\r\n${SECRET}`,
  ),
  "two lengths": raw(`HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Length: 5\r\nContent-Length: 60\r\n\r\n${result("7")}`),
  "a length and chunks": raw(
    `HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${result("7")}`,
  ),
  "a header that is too large": raw(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}${SECRET}\r\n\r\n`),
  "a header with a NUL": raw(`HTTP/1.1 200 OK\r\nX: ${SECRET}\0\r\n${JSON_TYPE}Content-Length: 0\r\n\r\n`),
  "a folded header": raw(`HTTP/1.1 200 OK\r\nX: ${SECRET}\r\n y\r\nContent-Length: 0\r\n\r\n`),
  "lines that end with LF": raw(`HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 2\n\n{}`),
  "no HTTP at all": raw(`220 ${SECRET} ESMTP\r\n\r\n`),
  "JSON without HTTP": raw(`${result("7")}\r\n\r\n`),
  "another protocol": raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
  "HTTP/2": raw("HTTP/2.0 200 OK\r\n\r\n"),
  "an end at once": thenClose(""),
  "a reset at once": thenReset(""),
  "a reset in the head": thenReset("HTTP/1.1 200 OK\r\nContent-"),
  "a reset in the body": thenReset(`HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Length: 100\r\n\r\n{"jsonrpc":"${SECRET}`),
  "an end in the body": thenClose(`HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Length: 1000\r\n\r\n${result("7")}`),
  "chunks without the last of them": thenClose(
    `HTTP/1.1 200 OK\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n${result("7").length.toString(16)}\r\n${result("7")}\r\n`,
  ),
  "a reset in an event": thenReset(`HTTP/1.1 200 OK\r\n${EVENT_TYPE}\r\nevent: message\ndata: {"jsonrpc":"${SECRET}`),
  "a reset behind an event that has no end": thenReset(`HTTP/1.1 200 OK\r\n${EVENT_TYPE}\r\ndata: ${result("7")}\n`),
  "an end behind an event that has no end": thenClose(`HTTP/1.1 200 OK\r\n${EVENT_TYPE}\r\ndata: ${result("7")}\n`),
  "no event": thenClose(`HTTP/1.1 200 OK\r\n${EVENT_TYPE}\r\n`),
  "only a comment": thenClose(`HTTP/1.1 200 OK\r\n${EVENT_TYPE}\r\n: ping\n\n`),
  "an event that is no JSON": thenClose(`HTTP/1.1 200 OK\r\n${EVENT_TYPE}\r\ndata: ${SECRET}\n\n`),
  "too much JSON, its id first": raw(
    respond("200 OK", JSON_TYPE, `{"jsonrpc":"2.0","id":7,"result":{"x":"${SECRET}${large}"}}`),
  ),
  "too much JSON, its id last": raw(
    respond("200 OK", JSON_TYPE, `{"result":{"x":"${SECRET}${large}"},"jsonrpc":"2.0","id":7}`),
  ),
  "too much JSON, another's id": raw(
    respond("200 OK", JSON_TYPE, `{"jsonrpc":"2.0","id":8,"result":{"x":"${SECRET}${large}"}}`),
  ),
  "too much of what is no JSON": raw(respond("200 OK", JSON_TYPE, SECRET + large)),
  "too large an event, its id first": raw(
    respond("200 OK", EVENT_TYPE, event(`{"jsonrpc":"2.0","id":7,"result":{"x":"${SECRET}${large}"}}`)),
  ),
  "too large an event, its id last": raw(
    respond("200 OK", EVENT_TYPE, event(`{"result":{"x":"${SECRET}${large}"},"jsonrpc":"2.0","id":7}`)),
  ),
  "an event without end": raw(respond("200 OK", EVENT_TYPE, `data: ${SECRET}${large}`)),
  "the answer to another": raw(respond("200 OK", JSON_TYPE, result("8"))),
  "an answer in other letters": raw(respond("200 OK", JSON_TYPE, result('"7x"'))),
  "an answer to nobody": raw(respond("200 OK", JSON_TYPE, `{"jsonrpc":"2.0","result":{"x":"${SECRET}"}}`)),
  "an event for another": raw(respond("200 OK", EVENT_TYPE, event(result("8")))),
  "a redirect elsewhere": raw(respond("307 Temporary Redirect", `Location: http://${SECRET}.example/\r\n`, "")),
  "a redirect with a body": raw(respond("302 Found", `Location: /${SECRET}\r\n${JSON_TYPE}`, result("7"))),
  "a redirect within": raw(respond("308 Permanent Redirect", `Location: /${SECRET}\r\n`, "")),
  "a page to log in": raw(respond("401 Unauthorized", "Content-Type: text/html\r\n", SECRET)),
};

/** The messages that a client gets for its call, by either transport. */
async function call(by: "/mcp" | "/sse", body = CALL): Promise<{ answers: string[]; all: string; answer: Answer }> {
  const before = stream.text().length;
  if (by === "/mcp") {
    const answer = await ask(gateway, { body, headers: session });
    const isEvents = answer.headers["content-type"] === "text/event-stream";
    const texts = isEvents ? [...answer.body.matchAll(/^data: (.*)$/gm)].map(([, data]) => data) : [answer.body];
    return { answers: texts, all: JSON.stringify(answer), answer };
  }
  const answer = await ask(gateway, { target: endpoint, body, headers: JSON_BOTH });
  await until(() => stream.text().slice(before).includes("\n\n"));
  await delay(50); // for a second answer, which must not come
  const said = stream.text().slice(before);
  return { answers: [...said.matchAll(/^data: (.*)$/gm)].map(([, data]) => data), all: said, answer };
}

async function until(isSo: () => boolean): Promise<void> {
  for (const limit = performance.now() + 10_000; !isSo() && performance.now() < limit;) await delay(5);
}

let asked = 100;

/** The next message must still work, whatever came before. */
async function stillWorks(by: "/mcp" | "/sse"): Promise<void> {
  server.script = undefined;
  const id = String(++asked);
  const { answers } = await call(by, CALL.replace('"id":7', `"id":${id}`));
  expect(answers).toEqual([`{"jsonrpc":"2.0","id":${id},"result":{}}`]);
}

describe.each(["/mcp", "/sse"] as const)("to a client at %s", (by) => {
  test.each(Object.entries(FAULTS))("%s is one clean error", async (name, fault) => {
    server.script = (heard) => (heard.message?.method === "tools/call" ? fault(heard) : heard.behave());
    const { answers, all, answer } = await call(by);
    expect(answers).toHaveLength(1);
    const { id, error } = JSON.parse(answers[0]) as { id: unknown; error: { code: number; message: string } };
    expect({ id, code: error.code }).toEqual({ id: 7, code: -32000 });
    expect(error.message).toMatch(
      /^(Connection closed|Invalid response|Response too large|The server answered with status \d\d\d)$/,
    );
    expect(all).not.toContain(SECRET);
    expect(answer.headers["content-encoding"]).toBeUndefined();
    expect(answer.headers["location"]).toBeUndefined();
    expect(answer.status === 202 || answer.status === 200 || answer.status >= 400).toBe(true);
    // Nothing is asked twice: what was asked may have been done.
    if (by === "/mcp") expect([name, server.calls("tools/call").length]).toEqual([name, 1]);
    await stillWorks(by);
  });

  test.each([
    ["twice", event(GOOD) + event(GOOD)],
    ["twice, then otherwise", event(GOOD) + event(result("7"))],
    ["beside others", event(result("8")) + event(GOOD) + event(result('"x"')) + event(result("null"))],
    ["behind what is none", event(SECRET) + event(`{"x":"${SECRET}"}`) + event(GOOD)],
  ])("an answer that comes %s comes once", async (_, events) => {
    server.script = (heard) =>
      heard.message?.method === "tools/call" ? heard.write(respond("200 OK", EVENT_TYPE, events)) : heard.behave();
    const { answers, all } = await call(by);
    expect(answers).toEqual([GOOD]);
    expect(all).not.toContain(SECRET);
    await stillWorks(by);
  });

  test("a request of the server's in place of an answer is no answer", async () => {
    if (by === "/sse") return; // there it may come: the stream is for requests as well
    const request = '{"jsonrpc":"2.0","id":7,"method":"roots/list"}';
    server.script = (heard) =>
      heard.message?.method === "tools/call" ? heard.write(respond("200 OK", JSON_TYPE, request)) : heard.behave();
    const { answers } = await call(by);
    expect(answers.map((text) => JSON.parse(text) as unknown)).toMatchObject([{ id: 7, error: { code: -32000 } }]);
    await stillWorks(by);
  });

  test("what a server adds behind its answer is nobody's answer", async () => {
    const planted = respond("200 OK", JSON_TYPE, result("7"));
    server.script = (heard) =>
      heard.message?.method === "tools/call"
        ? heard.write(Buffer.concat([respond("200 OK", JSON_TYPE, GOOD), planted, planted]))
        : heard.behave();
    expect((await call(by)).answers).toEqual([GOOD]);
    await stillWorks(by);
    await stillWorks(by);
  });
});

describe("what asks for no answer", () => {
  const NOTE = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}';

  test.each([
    ["202 and a word", "202 Accepted", "Content-Type: text/plain\r\n", "Accepted", 202],
    ["200 and nothing", "200 OK", "", "", 200],
    ["200 and a page", "200 OK", "Content-Type: text/html\r\n", `<p>${SECRET}`, 200],
    ["200 and null", "200 OK", JSON_TYPE, "null", 200],
    ["500 and a page", "500 Oops", "Content-Type: text/html\r\n", SECRET, 500],
    ["a redirect", "307 Temporary Redirect", `Location: https://${SECRET}.example\r\n`, "", 502],
  ])("a notification is answered with %s", async (_, status, headers, body, wanted) => {
    server.script = (heard) => heard.write(respond(status, headers, body));
    const answer = await ask(gateway, { body: NOTE, headers: session });
    expect(answer.status).toBe(wanted);
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    if (wanted < 300) expect(answer.body).toBe("");
  });

  test.each([
    ["a redirect", "302 Found", `Location: https://${SECRET}.example\r\n`, ""],
    ["a page", "200 OK", "Content-Type: text/html\r\n", SECRET],
    ["500 and a page", "500 Oops", "Content-Type: text/html\r\n", SECRET],
  ])("a GET is answered with %s, and the client is not", async (_, status, headers, body) => {
    server.script = (heard) => heard.write(respond(status, headers, body));
    const answer = await ask(gateway, { method: "GET", headers: session });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(JSON.stringify(answer)).not.toContain(SECRET);
  });

  test("a DELETE that is answered with a word is done", async () => {
    server.script = (heard) => heard.write(respond("200 OK", "Content-Type: text/plain\r\n", "Session closed"));
    expect(await ask(gateway, { method: "DELETE", headers: session })).toMatchObject({ status: 200, body: "" });
  });
});

/** Lets in who brings a token, any token. */
function askFirst(heard: Heard): void {
  if (heard.header("authorization") !== undefined) return heard.behave();
  return heard.write(respond("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", ""));
}

describe("a stream as it is framed", () => {
  const events: Headers = [["Accept", "text/event-stream"]];
  const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';

  test.each([
    ["LF", `event: message\nid: 1\ndata: ${NOTE}\n\n`],
    ["CRLF", `event: message\r\nid: 1\r\ndata: ${NOTE}\r\n\r\n`],
    ["both", `event: message\r\nid: 1\ndata: ${NOTE}\n\r\n`],
    ["comments", `: hi\n\n:\n\ndata: ${NOTE}\n: there\n\n`],
    ["id and retry", `id: a b\nretry: 10\ndata: \n\nid:\ndata:${NOTE}\n\n`],
    ["lines of data", `data: {"jsonrpc":"2.0",\ndata:\ndata:"method":"notifications/x"}\n\n`],
  ])("%s passes byte for byte, in one piece and in many", (_, text) => arrives(text, text));

  test.each([
    ["CR alone", `event: message\rid: 1\rdata: ${NOTE}\r\r`, `event: message\nid: 1\ndata: ${NOTE}\n\n`],
    ["a BOM", `\uFEFFdata: ${NOTE}\n\n`, `data: ${NOTE}\n\n`],
    ["fields nobody knows", `foo: bar\nbaz\nretry: x\ndata: ${NOTE}\n\n`, `data: ${NOTE}\n\n`],
    ["an event of nothing else", `\u00ef\u00bb\u00bfdata: ${NOTE}\n\n: a\vdata: ${NOTE}\n\n`, ""],
  ])("with %s, which readers read in different ways, it is framed anew", (_, text, left) => arrives(text, left));

  async function arrives(text: string, left: string): Promise<void> {
    for (const size of [1, 7, 100_000]) {
      server.script = (heard) => {
        if (heard.method !== "GET") return heard.behave();
        const bytes = Buffer.from(text);
        heard.events();
        for (let at = 0; at < bytes.length; at += size) heard.chunk(bytes.subarray(at, at + size));
        return heard.end();
      };
      const got = await open(gateway, { method: "GET", headers: events });
      await got.ended();
      got.socket.destroy();
      expect(got.text()).toBe(left);
    }
  }

  test("a list behind a BOM is filtered like any other", async () => {
    const list = '{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"denied_tool","inputSchema":{}}]}}';
    const empty = '{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}';
    // Its clients log in themselves: lists are learnt from what passes.
    const guarded = await startScripted();
    guarded.script = askFirst;
    const behind = await startGateway(["--upstream", guarded.url, "--deny", "^denied_tool$"]);
    const headers: Headers = [...JSON_BOTH, ["Authorization", "Bearer x"]];
    await ask(behind, { body: HELLO, headers });
    const ask7 = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
    for (const [before, after] of [
      ["\uFEFFdata: ", "\n\n"],
      ["\uFEFFid: 1\r\ndata:", "\r\n\r\n"],
      ["\uFEFFdata\rdata:", "\r\r"],
      ["data: ", "\n\n"],
    ]) {
      guarded.script = (heard) => {
        if (heard.message?.id !== 7) return askFirst(heard);
        heard.events(before + list + after);
        return heard.end();
      };
      const { body } = await ask(behind, { body: ask7, headers: [...headers, ["Mcp-Session-Id", "s-1"]] });
      expect(body).not.toContain("denied_tool");
      expect(body).toContain(empty);
    }
    behind.kill("SIGKILL");
    guarded.close();
  });

  test("events leave in the rhythm they came in, and CRLF is not held back", async () => {
    let count = 0;
    const sent: number[] = [];
    server.script = (heard) => {
      if (heard.method !== "GET") return heard.behave();
      heard.events();
      const timer = setInterval(() => {
        sent.push(performance.now());
        heard.chunk(`data: ${NOTE}\r\n\r\n`);
        if (++count < 6) return;
        clearInterval(timer);
        heard.end();
      }, 100);
      return undefined;
    };
    const started = performance.now();
    const got = await open(gateway, { method: "GET", headers: events });
    const headAfter = performance.now() - started;
    await got.ended();
    expect(got.pieces.map(({ text }) => text)).toEqual(Array.from({ length: 6 }, () => `data: ${NOTE}\r\n\r\n`));
    for (const [index, { at }] of got.pieces.entries()) expect(at - sent[index]).toBeLessThan(60);
    expect(headAfter).toBeLessThan(90);
    got.socket.destroy();
  });

  test("the head of a stream arrives before anything is in it", async () => {
    server.script = (heard) => (heard.method === "GET" ? heard.events() : heard.behave());
    const got = await open(gateway, { method: "GET", headers: events });
    expect(got).toMatchObject({ status: 200, headers: { "content-type": "text/event-stream" } });
    expect(got.text()).toBe("");
    got.socket.destroy();
  });
});

async function refuse(script: (heard: Heard) => void, path = "/mcp", options: string[] = []) {
  const other = await startScripted({ script });
  const url = `http://127.0.0.1:${other.port}${path}`;
  const { code, stderr } = await refuseToStart([
    "--upstream",
    url,
    "--listen",
    "0",
    "--log-level",
    "error",
    ...options,
  ]);
  other.close();
  return { code, stderr: stderr.replaceAll(String(other.port), "PORT"), heard: other.heard };
}

describe("what is no server at the start", () => {
  const FAILED = "Error: Failed to connect to upstream MCP at http://127.0.0.1:PORT/mcp\n";

  test("nobody listens", async () => {
    const other = await startScripted();
    other.close();
    const { code, stderr } = await refuseToStart(["--upstream", `http://127.0.0.1:${other.port}`, "--listen", "0"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `Error: Failed to connect to upstream MCP at http://127.0.0.1:${other.port}\nConnection refused\n`,
    });
  });

  test("somebody listens and says nothing", async () => {
    const { code, stderr } = await refuse(() => {}, "/mcp", ["--connect-timeout", "500ms"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${FAILED}Connection timeout after 500ms\n` });
  });

  test("a list that does not come", async () => {
    const { code, stderr } = await refuse(
      (heard) => (heard.message?.method === "tools/list" ? undefined : heard.behave()),
      "/mcp",
      ["--tools-timeout", "300ms"],
    );
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "Error: Failed to fetch tool list from upstream MCP\nRequest timeout after 300ms\n",
    });
  });

  test.each([
    ["a page", respond("200 OK", "Content-Type: text/html\r\n", SECRET)],
    ["500", respond("500 Oops", "Content-Type: text/html\r\n", SECRET)],
    ["404", respond("404 Not Found", "Content-Type: text/html\r\n", SECRET)],
    ["JSON that is cut off", respond("200 OK", JSON_TYPE, `{"jsonrpc":"2.0","id":"${SECRET}`)],
    ["what is packed", respond("200 OK", `${JSON_TYPE}Content-Encoding: gzip\r\n`, gzipSync(SECRET))],
    ["no HTTP", Buffer.from(`SSH-2.0-${SECRET}\r\n\r\n`)],
    ["a redirect elsewhere", respond("307 Temporary Redirect", `Location: http://${SECRET}.example/mcp\r\n`, "")],
    ["a redirect to another port", respond("308 Permanent Redirect", "Location: http://127.0.0.1:1/mcp\r\n", "")],
    ["a redirect to nowhere", respond("307 Temporary Redirect", "Location: http://[\r\n", "")],
  ])("%s", async (_, bytes) => {
    const { code, stderr } = await refuse((heard) => heard.write(bytes));
    expect(code).toBe(1);
    expect(stderr.startsWith(`${FAILED}Invalid response`) || stderr === `${FAILED}Connection lost\n`, stderr).toBe(
      true,
    );
    expect(stderr).not.toContain(SECRET);
    expect(stderr.split("\n")).toHaveLength(3);
  });

  test.each(['{"tools":{}}', '{"tools":"x"}', "{}", "[]", '{"tools":null}'])(
    "a list that is none: %s",
    async (list) => {
      const { code, stderr } = await refuse((heard) => {
        if (heard.message?.method !== "tools/list") return heard.behave();
        return heard.json({ jsonrpc: "2.0", id: heard.message.id, result: JSON.parse(list) as unknown });
      });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^Error: Failed to fetch tool list from upstream MCP\nInvalid response: .{1,80}\n$/);
    },
  );

  test("a redirect on the same origin is followed once at the start, with all its messages", async () => {
    const moved = await startScripted({
      script: (heard) =>
        heard.path === "/mcp"
          ? heard.write(respond("307 Temporary Redirect", "Location: /moved/mcp?x=1\r\n", ""))
          : heard.behave(),
    });
    const behind = await startGateway(["--upstream", moved.url]);
    expect((await ask(behind, { body: HELLO, headers: JSON_BOTH })).status).toBe(200);
    expect(moved.heard.at(-1)?.path).toBe("/moved/mcp?x=1");
    expect(behind.stderr()).toContain("/moved/mcp?***");
    behind.kill("SIGKILL");
    moved.close();
  });

  test("redirects that lead nowhere come to an end", async () => {
    let count = 0;
    const { code, stderr, heard } = await refuse((one) => {
      count++;
      one.write(respond("307 Temporary Redirect", `Location: /${count}\r\n`, ""));
    });
    expect(code).toBe(1);
    expect(stderr).toContain(`${FAILED}Invalid response`);
    expect(heard.length).toBeLessThan(60);
  });

  test.each([
    "http://evil.example/messages",
    "//evil.example/messages",
    "https://127.0.0.1/messages",
    "http://user:pw@evil.example/",
    "javascript:alert(1)",
  ])("an endpoint of another origin: %s", async (endpoint) => {
    const other = await startSse({ greeting: `event: endpoint\ndata: ${endpoint}\n\n` });
    const { code, stderr } = await refuseToStart(["--upstream", other.url, "--listen", "0", "--log-level", "error"]);
    other.server.close();
    expect(code).toBe(1);
    expect(stderr).toContain("Error: Failed to connect to upstream MCP at");
    expect(stderr).toContain("\nInvalid response");
    expect(other.server.heard.filter(({ method, path }) => method === "POST" && path !== "/sse")).toEqual([]);
  });
});
