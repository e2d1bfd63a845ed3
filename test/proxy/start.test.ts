import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ConnectionError, createLog, createProxy, inspectTools, ProxyError } from "../../src/index.ts";
import { beNear, type Knock, replyWith, startScripted } from "../support/scripted-http.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A server that treats our own session in this way. */
async function serve(answerOurs: (knock: Knock) => boolean): Promise<string> {
  const server = await startScripted(() => false, {}, answerOurs);
  ends.push(() => server.close());
  return server.url;
}

const listing =
  (answer: (knock: Knock) => void) =>
  (knock: Knock): boolean => {
    if (knock.message.method !== "tools/list") return false;
    answer(knock);
    return true;
  };

const times = { connection: 400, toolList: 300 };
const ESCAPE = "\u001b[31m";

describe("why a server at a URL cannot be used reaches the program that asked", () => {
  const CASES: [what: string, url: () => Promise<string>, code: string, cause: string, remedy: RegExp][] = [
    ["nobody listens", async () => "http://127.0.0.1:1/mcp", "CONNECTION_FAILED", "REFUSED", /^Connection refused$/],
    [
      "there is no such host",
      async () => "http://no-such-host.invalid/mcp",
      "CONNECTION_FAILED",
      "REFUSED",
      /^No such host$/,
    ],
    [
      "it hangs up at once",
      async () => {
        const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
        ends.push(() => server.close());
        await new Promise((resolve) => void server.once("listening", resolve));
        return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
      },
      "CONNECTION_FAILED",
      "REFUSED",
      /^Connection lost$/,
    ],
    ["it says nothing", () => serve(() => true), "CONNECTION_FAILED", "TIMEOUT", /^Connection timeout after 400ms$/],
    [
      "it answers with a page",
      () =>
        serve(({ response }) => {
          response.writeHead(200, { "Content-Type": "text/html" }).end("<p>hello");
          return true;
        }),
      "CONNECTION_FAILED",
      "INVALID_RESPONSE",
      /^Invalid response: status 200$/,
    ],
    [
      "it refuses with an error of its own",
      () =>
        serve(({ message, response }) => {
          const error = { code: -32602, message: `No ${ESCAPE}thanks` };
          replyWith(response, { jsonrpc: "2.0", id: message.id ?? null, error }, {}, 400);
          return true;
        }),
      "CONNECTION_FAILED",
      "INVALID_RESPONSE",
      /^Invalid response: status 400, error -32602: No \\u001b\[31mthanks$/,
    ],
    [
      "its list does not come",
      () => serve(listing(() => {})),
      "TOOL_LIST_FAILED",
      "TIMEOUT",
      /^Request timeout after 300ms$/,
    ],
    [
      "it answers the list with an error",
      () =>
        serve(
          listing(({ message, response }) => {
            const error = { code: -32000, message: `database ${ESCAPE}\nis down ${"x".repeat(1000)}` };
            replyWith(response, { jsonrpc: "2.0", id: message.id, error });
          }),
        ),
      "TOOL_LIST_FAILED",
      "INVALID_RESPONSE",
      /^Invalid response: the server answered with error -32000: database \\u001b\[31m\\u000ais down x{150,190}…$/,
    ],
    [
      "its list is not a list",
      () =>
        serve(
          listing(({ message, response }) =>
            replyWith(response, { jsonrpc: "2.0", id: message.id, result: { tools: {} } }),
          ),
        ),
      "TOOL_LIST_FAILED",
      "INVALID_RESPONSE",
      /^Invalid response: the server's answer is not a list of tools$/,
    ],
  ];

  test.each(CASES)("%s", async (_, find, code, causeCode, remedy) => {
    const upstream = await find();
    const lines: string[] = [];
    const log = createLog({ level: "debug", write: (line) => void lines.push(line) });
    const start = (): Promise<unknown> => createProxy({ upstream, listen: { port: 0 }, timeouts: times, log });
    const inspect = (): Promise<unknown> =>
      inspectTools({ upstream, timeoutMs: 300, connectTimeoutMs: 400, log: null });
    for (const attempt of [start, inspect]) {
      const error: unknown = await attempt().then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(error instanceof ProxyError)) throw new Error(`not refused: ${String(error)}`);
      expect(error.code).toBe(code);
      expect(error.remedy).toMatch(remedy);
      const { cause } = error;
      if (!(cause instanceof ConnectionError)) throw new Error(`no reason: ${String(cause)}`);
      expect([cause.code, cause.message]).toEqual([causeCode, error.remedy]);
      expect(cause.internalDetails).not.toBe("");
    }
    const said = lines.join("");
    expect(said).toContain(`the server cannot be used code="${causeCode}"`);
    expect(said).not.toContain("\u001b");
  });
});

test("the server's own error is in the log where the list is fetched while a call waits", async () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line) });
  const program = `require("readline").createInterface({input:process.stdin}).on("line",(line)=>{
    const {id,method}=JSON.parse(line); if(id===undefined) return;
    const result={protocolVersion:"2025-11-25",capabilities:{tools:{}},serverInfo:{name:"s",version:"1"}};
    console.log(JSON.stringify(method==="initialize"?{jsonrpc:"2.0",id,result}:{jsonrpc:"2.0",id,error:{code:-32000,message:"database is down"}}));
  })`;
  const client = await beNear({ command: [process.execPath, "-e", program], deny: ["^x$"], log });
  ends.push(() => client.proxy.stop());
  await client.begin();
  const answer = await client.ask({ id: 1, method: "tools/call", params: { name: "a" } });
  expect(answer.error).toEqual({ code: -32603, message: "Internal proxy error" });
  expect(lines.join("")).toContain("the server answered with error -32000: database is down");
});

const LIST = { tools: [null, { name: "good", inputSchema: {} }, { name: "bad" }, ...Array(20).fill(7)] };
const BAD_ENTRY = /entry of the server's tool list is not a tool and is hidden rule="tools:bad-entry"/;

describe("entries of a list that are not tools are hidden, each with a word in the log", () => {
  test("at the start", async () => {
    const lines: string[] = [];
    const log = createLog({ write: (line) => void lines.push(line) });
    const upstream = await serve(
      listing(({ message, response }) => replyWith(response, { jsonrpc: "2.0", id: message.id, result: LIST })),
    );
    const client = await beNear({ upstream, deny: ["^x$"], log });
    ends.push(() => client.proxy.stop());
    await client.begin();
    const { result } = await client.ask({ id: 1, method: "tools/list" });
    expect(result).toEqual({ tools: [{ name: "good", inputSchema: {} }] });
    const said = lines.filter((line) => BAD_ENTRY.test(line));
    expect(said).toHaveLength(10);
    expect(said[0]).toContain('entry=0 why="it is not an object" of=22');
    expect(said[1]).toContain('entry=2 why="inputSchema of bad is not an object"');
  });

  test("and in what is told of a server's tools", async () => {
    const upstream = await serve(
      listing(({ message, response }) => replyWith(response, { jsonrpc: "2.0", id: message.id, result: LIST })),
    );
    const { faults, tools } = await inspectTools({ upstream, log: null });
    expect(tools.map(({ name }) => name)).toEqual(["good"]);
    expect(faults.count).toBe(22);
    expect(faults.first).toHaveLength(10);
  });
});
