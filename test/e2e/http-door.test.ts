import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Gateway, refuseToStart, startGateway, stopGateways } from "../support/gateway.ts";
import { fixture } from "../support/processes.ts";
import { type Answer, ask, converse, type Headers, open, type Question, write } from "../support/raw-http.ts";
import { type ScriptedServer, startScripted } from "../support/scripted-server.ts";

const JSON_BOTH: Headers = [
  ["Content-Type", "application/json"],
  ["Accept", "application/json, text/event-stream"],
];
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const PONG = '{"jsonrpc":"2.0","id":1,"result":{}}';
const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';

let server: ScriptedServer;
/** A server at a URL, and a server that is a process, each behind a door of its own. */
const gateways: Record<string, Gateway> = {};

beforeAll(async () => {
  server = await startScripted();
  const options = ["--deny", "^denied_tool$", "--allow-origin", "https://app.example", "--allow-host", "Proxy.Example"];
  const folder = mkdtempSync(join(tmpdir(), "http-door-"));
  const script = join(folder, "script.json");
  writeFileSync(script, JSON.stringify({ heard: join(folder, "heard"), tools: ["safe_tool", "denied_tool"] }));
  [gateways["url"], gateways["process"]] = await Promise.all([
    startGateway(["--upstream", server.url, ...options]),
    startGateway([...options, "--", ...fixture("scripted.mjs", script)]),
  ]);
});

afterAll(() => {
  stopGateways();
  server.close();
});

/** Asks with a ping, unless the question says otherwise. */
function visit(kind: string, question: Question = {}): Promise<Answer> {
  const { headers = [], ...rest } = question;
  const isPost = (question.method ?? "POST") === "POST";
  return ask(gateways[kind], { ...(isPost ? { body: PING } : {}), ...rest, headers: [...JSON_BOTH, ...headers] });
}

/** Neither our own words nor anything of the server's but a short sentence. */
function isClean({ body, headers }: Answer): void {
  expect(headers["content-type"]).toBe("application/json");
  const { jsonrpc, id, error } = JSON.parse(body) as { jsonrpc: string; id: unknown; error: { message: string } };
  expect({ jsonrpc, id }).toEqual({ jsonrpc: "2.0", id: null });
  expect(error.message).toMatch(/^[\w ,:./()-]{3,80}$/);
}

function greet(id: number): Buffer {
  return write({ body: HELLO.replace('"id":0', `"id":${id}`), headers: JSON_BOTH });
}

function base64(text: string): string {
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

const KINDS = ["url", "process"] as const;
const ENDPOINTS = ["/mcp", "/sse", "/messages", "/messages?sessionId=x", "/healthz", "/readyz", "/", "/other"];

describe.each(KINDS)("a door before a server that is a %s", (kind) => {
  describe("lets in only who calls us by a name of ours", () => {
    test.each(["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "proxy.example", "PROXY.example"])(
      "%s",
      async (name) => {
        for (const host of [name, `${name}:${gateways[kind].port}`, `${name}:1`])
          expect((await visit(kind, { method: "GET", target: "/healthz", host })).status).toBe(200);
      },
    );

    test.each([
      "evil.example",
      "localhost.evil.example",
      "evil-localhost",
      "evillocalhost",
      "127.0.0.1.evil.example",
      "sub.localhost",
      "localhost@evil.example",
      "localhost:80:80",
      "localhost:80x",
      "localhost:123456",
      "localhost.",
      "127.0.0.2",
      "127.1",
      "0.0.0.0",
      "2130706433",
      "[::ffff:127.0.0.1]",
      "[::2]",
      "::1",
      "[::1",
      "xproxy.example",
      "proxy.example.evil",
      "localhost, evil.example",
      "localhost/",
      "",
    ])("not %j", async (host) => {
      server.heard.length = 0;
      for (const target of ENDPOINTS) {
        const answer = await visit(kind, { method: "GET", target, host });
        expect([answer.status, target]).toEqual([403, target]);
        isClean(answer);
      }
      const posted = await visit(kind, { host });
      expect(posted.status).toBe(403);
      expect(server.heard).toEqual([]);
    });

    test("and says nothing to who gives no name at all", async () => {
      const answer = await visit(kind, { host: null });
      expect(answer.status).toBe(400);
    });
  });

  describe("lets in only pages from origins we were told of", () => {
    test.each([
      "https://evil.example",
      "null",
      "http://localhost.evil.example",
      "https://app.example.evil",
      "https://evil-app.example",
      "http://app.example",
      "https://app.example:8443",
      "https://app.example/",
      "https://app.example.",
      "https://user@app.example",
      "http://localhost",
      "http://localhost:1",
      "http://127.0.0.1",
      "file://",
      "chrome-extension://abc",
      "https://app.example https://evil.example",
      "",
    ])("not %j", async (origin) => {
      server.heard.length = 0;
      const headers: Headers = [["Origin", origin]];
      const host = `localhost:${gateways[kind].port}`;
      for (const target of ENDPOINTS) {
        const answer = await visit(kind, { method: "GET", target, headers, host });
        expect([answer.status, target]).toEqual([403, target]);
        isClean(answer);
        expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      }
      const posted = await visit(kind, { headers, host });
      expect(posted.status).toBe(403);
      const preflight = await visit(kind, {
        method: "OPTIONS",
        headers: [...headers, ["Access-Control-Request-Method", "POST"]],
        host,
      });
      expect(preflight.status).toBe(403);
      expect(Object.keys(preflight.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      expect(server.heard).toEqual([]);
    });

    test.each(["cross-site", "same-site"])("nor what a page elsewhere shows or runs: %s", async (site) => {
      server.heard.length = 0;
      for (const target of ENDPOINTS) {
        const answer = await visit(kind, { method: "GET", target, headers: [["Sec-Fetch-Site", site]] });
        expect([answer.status, target]).toEqual([403, target]);
      }
      for (const own of ["none", "same-origin"]) {
        const answer = await visit(kind, { method: "GET", target: "/healthz", headers: [["Sec-Fetch-Site", own]] });
        expect(answer.status).toBe(200);
      }
      expect(server.heard).toEqual([]);
    });

    test("one that is allowed is told so with every answer", async () => {
      for (const origin of ["https://app.example", "HTTPS://APP.EXAMPLE"]) {
        const { status, headers } = await visit(kind, { body: HELLO, headers: [["Origin", origin]] });
        expect(status).toBe(200);
        expect(headers["access-control-allow-origin"]).toBe(origin);
        expect(headers["access-control-expose-headers"]).toContain("Mcp-Session-Id");
        expect(headers["vary"]).toContain("Origin");
        expect(headers["access-control-allow-credentials"]).toBeUndefined();
      }
      const refused = await visit(kind, {
        headers: [
          ["Origin", "https://app.example"],
          ["Content-Encoding", "gzip"],
        ],
      });
      expect(refused).toMatchObject({ status: 415, headers: { "access-control-allow-origin": "https://app.example" } });
    });

    test("a preflight from an allowed one names the headers of the protocol", async () => {
      const { status, headers, body } = await visit(kind, {
        method: "OPTIONS",
        headers: [
          ["Origin", "https://app.example"],
          ["Access-Control-Request-Method", "POST"],
          ["Access-Control-Request-Headers", "content-type, mcp-param-region, x-evil"],
        ],
      });
      expect({ status, body }).toEqual({ status: 204, body: "" });
      expect(headers["access-control-allow-origin"]).toBe("https://app.example");
      expect(headers["access-control-allow-methods"]).toBe("GET, POST, DELETE");
      const allowed = headers["access-control-allow-headers"].toLowerCase().split(", ");
      expect(allowed).toEqual(
        expect.arrayContaining([
          "content-type",
          "accept",
          "authorization",
          "last-event-id",
          "mcp-session-id",
          "mcp-protocol-version",
          "mcp-method",
          "mcp-name",
          "mcp-param-region",
        ]),
      );
      expect(allowed).not.toContain("x-evil");
      expect(allowed).not.toContain("*");
    });

    test("who sends none is no browser, and is let in", async () => {
      expect((await visit(kind, { body: HELLO })).status).toBe(200);
    });
  });

  test.each([
    ["Host", "localhost", "evil.example"],
    ["Origin", "https://app.example", "https://app.example"],
    ["Authorization", "Bearer a", "Bearer b"],
    ["Content-Type", "application/json", "text/plain"],
    ["Content-Encoding", "identity", "gzip"],
    ["Mcp-Session-Id", "a", "b"],
    ["MCP-Protocol-Version", "2025-11-25", "2026-07-28"],
    ["Mcp-Method", "ping", "tools/call"],
    ["Mcp-Name", "safe_tool", "denied_tool"],
    ["Mcp-Param-Region", "a", "b"],
    ["Last-Event-ID", "1", "2"],
  ])("two headers %s are refused: peers would read them differently", async (name, one, other) => {
    server.heard.length = 0;
    const answer = await ask(gateways[kind], {
      body: PING,
      headers: [
        ["Content-Type", "application/json"],
        [name, one],
        [name.toUpperCase(), other],
      ],
    });
    expect(answer.status).toBe(400);
    isClean(answer);
    expect(server.heard).toEqual([]);
  });

  test.each(["mcp_name", "Mcp_Session_Id", "mcp-session_id", "content_type", "AUTHORIZATION_".slice(0, -1) + "_x"])(
    "a header %s is refused where some servers would take it for one of ours",
    async (name) => {
      const { status } = await visit(kind, { headers: [[name, "x"]] });
      if (name.endsWith("_x")) expect(status).not.toBe(403);
      else expect(status).toBe(400);
    },
  );

  test.each(["mcp-session-id", "Authorization, keep-alive", "close, Content-Type", "mcp-name", "origin", "Host"])(
    "Connection: %s is refused: it would take from the server what we have seen",
    async (value) => {
      const [{ status }] = await converse(gateways[kind], [
        write({ body: PING, headers: [...JSON_BOTH, ["Connection", value]] }),
        write({ body: PING, headers: [...JSON_BOTH, ["Connection", "close"]] }),
      ]);
      expect(status).toBe(400);
    },
  );

  test.each(["http://localhost/mcp", "http://evil.example/mcp", "evil.example:80", "*", "mcp", "//evil.example/mcp"])(
    "the target %s is not taken",
    async (target) => {
      const { status } = await visit(kind, { target });
      expect([400, 404]).toContain(status);
    },
  );

  test("nothing is tunnelled", async () => {
    const tunnel = write({ method: "CONNECT", target: "evil.example:80" });
    expect(await converse(gateways[kind], [tunnel])).toEqual([]);
  });

  test("who offers to go on in HTTP/2 or as a web socket is answered in HTTP/1.1", async () => {
    const offers: Headers[] = [
      [
        ["Connection", "Upgrade, HTTP2-Settings"],
        ["Upgrade", "h2c"],
        ["HTTP2-Settings", "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"],
      ],
      [
        ["Connection", "Upgrade"],
        ["Upgrade", "websocket"],
      ],
    ];
    for (const headers of offers) {
      const stream = await open(gateways[kind], { body: HELLO, headers: [...JSON_BOTH, ...headers] });
      expect(stream.status).toBe(200);
      await stream.ended();
      expect(stream.text()).toContain('"id":0,"result":');
      stream.socket.destroy();
    }
  });

  test("requests in one write are answered in their order", async () => {
    const last = write({ method: "GET", target: "/healthz", headers: [["Connection", "close"]] });
    const answers = await converse(gateways[kind], [Buffer.concat([greet(1), greet(2), greet(3), last])]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const ids = answers.slice(0, 3).map(({ body }) => /"id":(\d+)/.exec(body)?.[1]);
    expect(ids).toEqual(["1", "2", "3"]);
  });

  test("a GET with a body does not smuggle a request in it", async () => {
    server.heard.length = 0;
    const inner = write({ body: PING.replace('"id":1', '"id":666'), headers: JSON_BOTH });
    const outer = write({ method: "GET", headers: [["Accept", "text/event-stream"]], body: inner });
    const last = write({ method: "GET", target: "/healthz", headers: [["Connection", "close"]] });
    const answers = await converse(gateways[kind], [Buffer.concat([outer, last])]);
    expect(answers.at(-1)?.body).toBe("ok\n");
    expect(answers).toHaveLength(2);
    expect(server.heard.filter(({ body }) => body.includes("666"))).toEqual([]);
  });

  test.each([
    ["a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked"],
    ["two lengths", "Content-Length: 4\r\nContent-Length: 5"],
    ["a list of lengths", "Content-Length: 4, 4"],
    ["a length with a sign", "Content-Length: +4"],
    ["an encoding that is none", "Transfer-Encoding: xchunked"],
    ["an encoding before chunks", "Transfer-Encoding: gzip, chunked"],
    ["chunks before an encoding", "Transfer-Encoding: chunked, gzip"],
    ["a folded line", "X: a\r\n b"],
    ["a space before the colon", "Content-Length : 4"],
    ["a NUL", "X: a\0b"],
    ["a bare LF", "X: a\nY: b"],
    ["a bare CR", "X: a\rContent-Length: 4"],
  ])("a request with %s is refused", async (_, headers) => {
    server.heard.length = 0;
    const text = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}\r\n\r\n0\r\n\r\n`;
    const answers = await converse(gateways[kind], [text]).catch(() => []);
    for (const { status } of answers) expect(status).toBe(400);
    expect(server.heard.filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("a head that is too large is refused", async () => {
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(40_000)}\r\n\r\n`;
    const answers = await converse(gateways[kind], [head]);
    expect(answers.map(({ status }) => status)).toEqual([431]);
  });

  test.each([
    [undefined, 415],
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["multipart/form-data; boundary=x", 415],
    ["application/jsonp", 415],
    ["application/json-seq", 415],
    ["text/plain; application/json", 415],
    ["text/plain, application/json", 415],
    ["application/json; charset=utf-16", 415],
    ["application/json; charset=utf-7", 415],
    ["application/json; charset=utf-8", 200],
    ["Application/JSON;charset=UTF-8", 200],
    ['application/json; charset="utf-8"', 200],
  ])("a body that is said to be %s: %i", async (type, wanted) => {
    server.heard.length = 0;
    const headers: Headers = type === undefined ? [] : [["Content-Type", type]];
    const answer = await ask(gateways[kind], {
      body: HELLO,
      headers: [...headers, ["Accept", "application/json, text/event-stream"]],
    });
    expect(answer.status).toBe(wanted);
    if (wanted === 415) isClean(answer);
    if (wanted === 415) expect(server.heard).toEqual([]);
  });

  test("a body that is packed is refused, a bomb as well", async () => {
    const bomb = gzipSync(Buffer.alloc(50 << 20));
    for (const encoding of ["gzip", "br", "deflate", "identity", "gzip, gzip", "x"]) {
      const answer = await visit(kind, { body: bomb, headers: [["Content-Encoding", encoding]] });
      expect([encoding, answer.status]).toEqual([encoding, 415]);
      isClean(answer);
    }
  });

  test("a message over ten megabytes is refused, said beforehand or not, and the next one is heard", async () => {
    const large = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${"x".repeat(10 << 20)}"}}`;
    const sized = await visit(kind, { body: large });
    expect(sized.status).toBe(413);
    isClean(sized);
    const pieces = large.match(/.{1,1000000}/gs) ?? [];
    const chunked = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join("");
    const unsized = await visit(kind, { body: `${chunked}0\r\n\r\n`, headers: [["Transfer-Encoding", "chunked"]] });
    expect(unsized.status).toBe(413);
    expect((await visit(kind, { body: HELLO })).status).toBe(200);
  });

  test("what goes on without end is cut off", async () => {
    const endless = write({ headers: [...JSON_BOTH, ["Content-Length", "1000000000000"]] });
    const piece = Buffer.alloc(1 << 20, "x");
    const started = performance.now();
    await converse(gateways[kind], [endless, ...Array.from({ length: 40 }, () => piece)]).catch(() => {});
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test.each(["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND"])("%s is not allowed", async (method) => {
    const { status, headers } = await ask(gateways[kind], { method });
    expect({ status, allow: headers["allow"] }).toEqual({ status: 405, allow: "GET, POST, DELETE" });
    for (const [target, allow] of [
      ["/sse", "GET"],
      ["/messages", "POST"],
    ]) {
      const answer = await ask(gateways[kind], { method, target });
      expect({ status: answer.status, allow: answer.headers["allow"] }).toEqual({ status: 405, allow });
    }
  });

  test.each(["/", "/mcp/", "/MCP", "/mcp%00", "/mcp;x", "/mcp/..", "/../mcp", "/%6dcp", "/metrics", "/.env"])(
    "there is nothing at %s",
    async (target) => expect((await visit(kind, { target })).status).toBe(404),
  );

  test("health is for everybody on this machine", async () => {
    expect(await visit(kind, { method: "GET", target: "/healthz" })).toMatchObject({ status: 200, body: "ok\n" });
    expect(await visit(kind, { method: "GET", target: "/readyz" })).toMatchObject({ status: 200, body: "ready\n" });
  });

  test.each(["", " ", "a b", "é", "x".repeat(1025), "x".repeat(20_000)])(
    "a session id that cannot be one is refused",
    async (id) => {
      const { status } = await visit(kind, { headers: [["Mcp-Session-Id", id]] });
      expect(status).toBe(400);
    },
  );

  test("who can take neither JSON nor events is told so", async () => {
    server.heard.length = 0;
    for (const accept of ["text/html", "image/*", "application/jsonx"]) {
      const answer = await ask(gateways[kind], {
        body: HELLO,
        headers: [
          ["Content-Type", "application/json"],
          ["Accept", accept],
        ],
      });
      expect([accept, answer.status]).toEqual([accept, 406]);
      isClean(answer);
    }
    expect(server.heard).toEqual([]);
  });

  test("who is turned away keeps the connection", async () => {
    const answers = await converse(gateways[kind], [
      write({ body: PING, headers: [["Content-Type", "text/plain"]] }),
      write({ body: PING, host: "evil.example", headers: JSON_BOTH }),
      write({ method: "GET", target: "/healthz", headers: [["Connection", "close"]] }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([415, 403, 200]);
  });

  test("what a body is not is a refusal in the words of JSON-RPC", async () => {
    server.heard.length = 0;
    for (const [body, code] of [
      ["", -32700],
      ["{", -32700],
      ["null", -32600],
      ['"x"', -32600],
      ["\uFEFF{}", -32700],
      ["[]", -32600],
    ] as const) {
      const answer = await visit(kind, { body });
      expect([body, answer.status]).toEqual([body, 400]);
      const { id, error } = JSON.parse(answer.body) as { id: unknown; error: { code: number } };
      expect([body, id]).toEqual([body, null]);
      // Where there is no session, a list of nothing is first of all without one.
      expect([body, error.code]).toEqual([body, kind === "process" && body === "[]" ? -32000 : code]);
    }
    expect(server.heard).toEqual([]);
  });
});

describe("headers that say what the body says", () => {
  const META =
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';
  const call = (name: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":{},${META}}}`;
  const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${META}}}`;
  const VERSION = ["MCP-Protocol-Version", "2026-07-28"] as const;
  const METHOD = ["Mcp-Method", "tools/call"] as const;
  const NAME = ["Mcp-Name", "safe_tool"] as const;

  test.each<[string, string, Headers]>([
    ["no headers at all", call("safe_tool"), []],
    ["no version", call("safe_tool"), [METHOD, NAME]],
    ["another version", call("safe_tool"), [["MCP-Protocol-Version", "2025-11-25"], METHOD, NAME]],
    ["no method", call("safe_tool"), [VERSION, NAME]],
    ["another method", call("safe_tool"), [VERSION, ["Mcp-Method", "tools/list"], NAME]],
    ["a method in other letters", call("safe_tool"), [VERSION, ["Mcp-Method", "Tools/Call"], NAME]],
    ["no name", call("safe_tool"), [VERSION, METHOD]],
    ["another name", call("denied_tool"), [VERSION, METHOD, NAME]],
    ["a name in other letters", call("safe_tool"), [VERSION, METHOD, ["Mcp-Name", "SAFE_TOOL"]]],
    ["a name that is empty", call("safe_tool"), [VERSION, METHOD, ["Mcp-Name", ""]]],
    ["another name in base64", call("safe_tool"), [VERSION, METHOD, ["Mcp-Name", base64("denied_tool")]]],
    ["base64 that is none", call("safe_tool"), [VERSION, METHOD, ["Mcp-Name", "=?base64?!!!?="]]],
    ["base64 without its padding", call("safe"), [VERSION, METHOD, ["Mcp-Name", "=?base64?c2FmZQ?="]]],
    ["base64 that is no UTF-8", call("\uFFFD"), [VERSION, METHOD, ["Mcp-Name", "=?base64?/w==?="]]],
    ["a marker in other letters", call("safe"), [VERSION, METHOD, ["Mcp-Name", "=?BASE64?c2FmZQ==?="]]],
    ["a name where there is none", list, [VERSION, ["Mcp-Method", "tools/list"], NAME]],
    ["a name that is not ASCII", call("h\u00e9"), [VERSION, METHOD, ["Mcp-Name", "h\u00e9"]]],
  ])("%s: 400, -32020", async (_, body, headers) => {
    for (const kind of KINDS) {
      server.heard.length = 0;
      const answer = await visit(kind, { body, headers });
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body)).toMatchObject({ jsonrpc: "2.0", id: 1, error: { code: -32020 } });
      expect(server.heard).toEqual([]);
    }
  });

  test("those that agree pass, and so does what nobody knows", async () => {
    server.heard.length = 0;
    const headers: Headers = [VERSION, METHOD, ["Mcp-Name", base64("safe_tool")], ["Mcp-Param-Region", "eu"]];
    const { status, body } = await visit("url", { body: call("safe_tool"), headers });
    expect({ status, body }).toEqual({ status: 200, body: PONG });
    const [heard] = server.calls("tools/call");
    expect(heard.body.toString()).toBe(call("safe_tool"));
    for (const [name, value] of headers) expect(heard.header(name)).toBe(value);
  });
});

describe("a bind beyond this machine", () => {
  test.each(["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:80"])("%s is refused", async (place) => {
    const { code, stderr } = await refuseToStart(["--listen", place, "--upstream", server.url]);
    expect(code).toBe(1);
    expect(stderr).toContain(`Error: Refusing to listen without authentication at ${place.replace(/^\[|\]/g, "")}\n`);
    expect(stderr).toContain(
      "Listen on 127.0.0.1, require tokens with --auth-tokens or --auth-jwks, or give --insecure-bind\n",
    );
  });

  test("unless somebody says so", async () => {
    const gateway = await startGateway(["--listen", "0.0.0.0:0", "--insecure-bind", "--upstream", server.url]);
    expect((await ask(gateway, { method: "GET", target: "/healthz", host: "127.0.0.1" })).status).toBe(200);
    expect((await ask(gateway, { method: "GET", target: "/healthz", host: "evil.example" })).status).toBe(403);
    gateway.kill("SIGKILL");
  });

  test("an address of IPv6 is called by its name in brackets", async () => {
    const gateway = await startGateway(["--listen", "[::1]:0", "--upstream", server.url]).catch(
      (error: Error) => error,
    );
    if (gateway instanceof Error) return expect(gateway.message).toContain("Not an address of this machine");
    const place = { port: gateway.port, host: "::1" };
    for (const [host, status] of [
      [`[::1]:${gateway.port}`, 200],
      ["localhost", 200],
      ["::1", 403],
    ] as const)
      expect((await ask(place, { method: "GET", target: "/healthz", host })).status).toBe(status);
    gateway.kill("SIGKILL");
    return undefined;
  });

  test("a port that is taken is named", async () => {
    const { code, stderr } = await refuseToStart(["--listen", String(server.port), "--upstream", server.url]);
    expect(code).toBe(1);
    expect(stderr).toContain(`Error: Port in use: 127.0.0.1:${server.port}\nStop what listens there`);
  });
});
