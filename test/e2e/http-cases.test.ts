import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Case, loadCases } from "../support/cases.ts";
import { type Gateway, startGateway, stopGateways } from "../support/gateway.ts";
import { fixture } from "../support/processes.ts";
import { type Answer, ask, type Headers, open } from "../support/raw-http.ts";
import { type ScriptedServer, startScripted } from "../support/scripted-server.ts";
import { type SseServer, startSse } from "../support/sse-server.ts";

const CASES = loadCases().filter(({ transport }) => transport !== "stdio");

/** The cases that need more than one request, and have a test of their own below. */
const APART = new Set([
  "body-lf-smuggle-to-stdio",
  "body-crlf-to-sse",
  "session-foreign",
  "session-missing-with-one-active",
  "sse-upstream-event-injection",
]);

/** What readers take for different things is framed anew: those in Go end no line at a CR alone. */
const FRAMED_ANEW = new Set(["sse-cr-only-lines"]);

/** Where we refuse before we read: nothing is known of the message then, and its id is not told. */
const UNREAD = new Set(["hdr-name-duplicate"]);

const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';
const PING = '{"jsonrpc":"2.0","id":"after","method":"ping"}';
const PONG = '{"jsonrpc":"2.0","id":"after","result":{}}';
const JSON_BOTH: Headers = [
  ["Content-Type", "application/json"],
  ["Accept", "application/json, text/event-stream"],
];

let server: ScriptedServer;
let sse: SseServer;
let filtered: Gateway; // in front of a server at a URL
let plain: Gateway; // the same without a filter: lists pass
let processes: Gateway; // in front of a process
let processHeard: string;
let older: Gateway; // in front of a server of the older transport

beforeAll(async () => {
  server = await startScripted({ tools: ["safe_tool", "denied_tool", "h\u00e9llo"] });
  sse = await startSse();
  const folder = mkdtempSync(join(tmpdir(), "http-cases-"));
  processHeard = join(folder, "heard");
  const script = join(folder, "script.json");
  writeFileSync(script, JSON.stringify({ heard: processHeard, tools: ["safe_tool", "denied_tool", "h\u00e9llo"] }));
  const deny = ["--deny", "^denied_tool$"];
  [filtered, plain, processes, older] = await Promise.all([
    startGateway(["--upstream", server.url, ...deny]),
    startGateway(["--upstream", server.url]),
    startGateway([...deny, "--", ...fixture("scripted.mjs", script)]),
    startGateway(["--upstream", sse.url, ...deny]),
  ]);
});

afterAll(() => {
  stopGateways();
  server.close();
  sse.server.close();
});

beforeEach(() => {
  server.heard.length = 0;
  server.script = undefined;
});

/** The headers of a case, one line for each value. Host has a line of its own in a request. */
function headersOf(one: Case): { headers: Headers; host: string } {
  const lines = Object.entries(one.headers).flatMap(([name, value]) =>
    [value].flat().map((each) => [name, each] as const),
  );
  const [host = ["host", "localhost"], ...more] = lines.filter(([name]) => name === "host");
  return { host: host[1], headers: [...lines.filter(([name]) => name !== "host"), ...more] };
}

async function stillWorks(gateway: Gateway): Promise<void> {
  const opened = await ask(gateway, { body: HELLO, headers: JSON_BOTH });
  const session = opened.headers["mcp-session-id"];
  const { body } = await ask(gateway, { body: PING, headers: [...JSON_BOTH, ["Mcp-Session-Id", session]] });
  expect(body).toBe(PONG);
}

test("every case by HTTP is played", () => {
  const names = new Set(CASES.map(({ name }) => name));
  expect([...APART, ...UNREAD].filter((name) => !names.has(name))).toEqual([]);
  expect(CASES).toHaveLength(32);
});

const fromClient = CASES.filter(({ name, direction }) => direction === "c2s" && !APART.has(name));
const fromServer = CASES.filter(({ name, direction }) => direction === "s2c" && !APART.has(name));

describe("what a client may try", () => {
  test.each(fromClient.map((one) => [one.verdict, one.name, one] as const))("%s: %s", async (verdict, name, one) => {
    const bytes = name === "gzip-bomb" ? gzipSync(Buffer.alloc(50 << 20)) : one.bytes;
    const answer = await ask(filtered, { ...headersOf(one), body: bytes });
    const heard = server.heard.filter(({ method }) => method === "POST");
    if (verdict === "forward") {
      expect(heard.map(({ body }) => body.toString("latin1"))).toEqual([bytes.toString("latin1")]);
      expect(answer).toMatchObject({ status: 200, body: '{"jsonrpc":"2.0","id":1,"result":{}}' });
    } else {
      expect(verdict).toBe("reject");
      expect(heard).toEqual([]);
      expect(answer.status).toBe(one.expect["http"]);
      if (one.reply !== null && !UNREAD.has(name)) expect(readError(answer)).toEqual(one.reply);
    }
    await stillWorks(filtered);
  });

  // Before a process the door is the same; what lies behind it must not hear of it either.
  test.each(fromClient.filter(({ verdict }) => verdict === "reject").map((one) => [one.name, one] as const))(
    "reject, before a process: %s",
    async (_, one) => {
      const answer = await ask(processes, { ...headersOf(one), body: one.bytes });
      expect(answer.status).toBe(one.expect["http"]);
      expect(readFileSync(processHeard, "latin1")).not.toContain("denied_tool");
      await stillWorks(processes);
    },
  );
});

describe("what a server may try", () => {
  test.each(fromServer.map((one) => [one.verdict, one.name, one] as const))("%s: %s", async (verdict, _, one) => {
    const bytes = one.bytes;
    const [waiting] = one.setup?.pending_c2s ?? [];
    const isEvents = one.transport === "sse";
    server.script = (heard) => {
      if (heard.message?.method !== "tools/list" && heard.method !== "GET") return heard.behave();
      if (isEvents) {
        heard.events(bytes);
        return heard.end();
      }
      const type = String(one.headers["content-type"]);
      return heard.write(
        `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes.toString("latin1")}`,
      );
    };
    if (verdict === "forward") {
      const stream = await open(plain, { method: "GET", headers: [["Accept", "text/event-stream"]] });
      await stream.ended();
      stream.socket.destroy();
      const text = bytes.toString("utf8");
      const left = FRAMED_ANEW.has(one.name) ? text.replaceAll("\r", "\n") : text;
      expect({ status: stream.status, text: stream.text() }).toEqual({ status: 200, text: left });
    } else {
      expect(verdict).toBe("drop");
      const list = `{"jsonrpc":"2.0","id":${waiting.id},"method":"tools/list"}`;
      const answer = await ask(plain, { body: list, headers: JSON_BOTH });
      const text = isEvents ? (/^event: message\ndata: (.*)\n\n$/.exec(answer.body)?.[1] ?? "") : answer.body;
      expect(readError({ ...answer, body: text })).toEqual({ code: -32000, id: waiting.id });
      for (const word of one.mustNotLeak) expect(answer.body).not.toContain(word);
    }
    server.script = undefined;
    await stillWorks(plain);
  });
});

const byName = (name: string): Case => {
  const found = CASES.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no case ${name}`);
  return found;
};

test("modify: body-lf-smuggle-to-stdio is one line to a process", async () => {
  const { bytes, expect: wanted } = byName("body-lf-smuggle-to-stdio");
  const opened = await ask(processes, { body: HELLO, headers: JSON_BOTH });
  const session: Headers = [...JSON_BOTH, ["Mcp-Session-Id", opened.headers["mcp-session-id"]]];
  const before = readFileSync(processHeard, "latin1").split("\n").length;
  const { status, body } = await ask(processes, { body: bytes, headers: session });
  expect({ status, body }).toEqual({ status: 200, body: '{"jsonrpc":"2.0","id":9,"result":{}}' });
  const lines = readFileSync(processHeard, "latin1")
    .split("\n")
    .slice(before - 1);
  expect(lines).toEqual([bytes.toString("latin1").replaceAll(/[\r\n]/g, " "), ""]);
  expect(lines.length - 1).toBe(wanted["upstream_lines"]);
});

test("modify: body-crlf-to-sse is one event to a client of the older transport", async () => {
  const { bytes } = byName("body-crlf-to-sse");
  server.script = (heard) => {
    if (heard.message?.method !== "ping") return heard.behave();
    return heard.write(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes.toString("latin1")}`,
    );
  };
  const stream = await open(filtered, { method: "GET", target: "/sse", headers: [["Accept", "text/event-stream"]] });
  await stream.hears("\n\n");
  const endpoint = /^event: endpoint\ndata: (\S+)\n\n$/.exec(stream.text())?.[1] ?? "";
  const post = (body: string): Promise<Answer> => ask(filtered, { target: endpoint, body, headers: JSON_BOTH });
  expect((await post(HELLO)).status).toBe(202);
  await stream.hears('"id":0');
  const before = stream.text().length;
  await post('{"jsonrpc":"2.0","id":5,"method":"ping"}');
  await stream.hears('"id":5');
  await stream.hears("}}\n\n");
  const flat = bytes.toString("latin1").replaceAll(/[\r\n]/g, " ");
  expect(stream.text().slice(before)).toBe(`event: message\ndata: ${flat}\n\n`);
  stream.socket.destroy();
});

function bearing(user: "a" | "b", headers: Headers = []): Headers {
  return [...JSON_BOTH, ["Authorization", `Bearer ${user.repeat(20)}`], ...headers];
}

test("reject: session-foreign is as if it did not exist", async () => {
  const one = byName("session-foreign");
  const [id] = Object.keys(one.setup?.["sessions"] as object);
  const theirs = await startScripted({ session: id });
  const file = join(mkdtempSync(join(tmpdir(), "http-tokens-")), "tokens");
  writeFileSync(file, "user-a aaaaaaaaaaaaaaaaaaaa\nuser-b bbbbbbbbbbbbbbbbbbbb\n", { mode: 0o600 });
  const gateway = await startGateway(["--upstream", theirs.url, "--auth-tokens", file]);
  const opened = await ask(gateway, { body: HELLO, headers: bearing("a") });
  expect(opened.headers["mcp-session-id"]).toBe(id);
  theirs.heard.length = 0;
  for (const method of ["POST", "GET", "DELETE"]) {
    const question = method === "POST" ? { body: one.bytes } : { method };
    const answer = await ask(gateway, { ...question, headers: bearing("b", [["Mcp-Session-Id", id]]) });
    const unknown = await ask(gateway, { ...question, headers: bearing("b", [["Mcp-Session-Id", "never-was"]]) });
    expect(answer.status).toBe(one.expect["http"]);
    expect(answer).toEqual(unknown);
  }
  expect(theirs.heard).toEqual([]);
  const { status } = await ask(gateway, { body: one.bytes, headers: bearing("a", [["Mcp-Session-Id", id]]) });
  expect(status).toBe(200);
  theirs.close();
});

test("reject: session-missing-with-one-active falls back to no session", async () => {
  const one = byName("session-missing-with-one-active");
  await ask(processes, { body: HELLO, headers: JSON_BOTH });
  const before = readFileSync(processHeard, "latin1");
  const answer = await ask(processes, { ...headersOf(one), body: one.bytes });
  expect(answer.status).toBe(one.expect["http"]);
  expect(readFileSync(processHeard, "latin1")).toBe(before);
});

test("drop: sse-upstream-event-injection moves nobody's messages elsewhere", async () => {
  const { bytes } = byName("sse-upstream-event-injection");
  const opened = await ask(older, { body: HELLO, headers: JSON_BOTH });
  const session: Headers = [...JSON_BOTH, ["Mcp-Session-Id", opened.headers["mcp-session-id"]]];
  const stream = sse.streams.at(-1);
  const answer = ask(older, { body: '{"jsonrpc":"2.0","id":7,"method":"prompts/list"}', headers: session });
  stream?.chunk(bytes);
  expect((await answer).status).toBe(200);
  sse.server.heard.length = 0;
  expect((await ask(older, { body: PING, headers: session })).body).toBe(PONG);
  const [heard] = sse.server.calls("ping");
  expect(heard.path).toMatch(/^\/messages\?stream=\d+$/);
  expect(older.stderr()).toContain("second endpoint");
});

function readError({ body }: Answer): { code: number; id: unknown } {
  const { id, error } = JSON.parse(body) as { id: unknown; error: { code: number } };
  return { code: error.code, id };
}
