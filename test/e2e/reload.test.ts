import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { COMMAND, type Program, test } from "../support/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-reload-"));
const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const place = (): string => join(folder, `p${++files}.yaml`);

/** Puts another file in the place of one, as editors do. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

type StartProgram = (argv: readonly string[], options?: { env: Record<string, string> }) => Program;
const run = (startProgram: StartProgram, ...words: string[]): Program =>
  startProgram([process.execPath, COMMAND, ...words], { env });

const SERVER = `upstream: { command: ${JSON.stringify([process.execPath, COMMAND, "demo-server"])} }\n`;
const HELLO = `${JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
})}\n`;
const call = (id: number, name: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{"text":"x"}}}\n`;
const rule = (reason: string, limit = 2): string => `interceptor:
  rules:
    - id: limit
      priority: 1
      conditions: [{ tool_matches: "^list_" }]
      actions: [{ rate_limit: { key: k, limit: ${limit}, window: 1h } }]
    - id: write
      conditions: [{ tool_matches: "^write_" }]
      actions: [{ block: "${reason}" }]
`;

describe.concurrent("a changed file is taken up while we run", () => {
  test("whole, with the counts of rules that stay, and clients hear of other tools", async ({ startProgram }) => {
    const file = place();
    writeFileSync(file, `${SERVER}${rule("first")}`);
    const program = run(startProgram, "--config", file);
    program.say(HELLO);
    await program.hears('"id":0,');
    program.say(call(1, "write_note"));
    await program.hears('"message":"first"');
    program.say(call(2, "list_notes"));
    await program.hears('"id":2,"result"');
    replace(file, `${SERVER}tools: { deny: [^delete_] }\n${rule("second")}`);
    await program.complains("policy reloaded");
    await program.hears('"method":"notifications/tools/list_changed"');
    program.say(call(3, "write_note"));
    await program.hears('"message":"second"');
    // One more is allowed, and not two: what was counted before still counts.
    program.say(call(4, "list_notes"));
    await program.hears('"id":4,"result"');
    program.say(call(5, "list_notes"));
    await program.hears('"id":5,"error":{"code":-32001,"message":"Rate limit exceeded"');
    program.say('{"jsonrpc":"2.0","id":6,"method":"tools/list"}\n');
    await program.hears('"id":6,');
    program.stdin.end();
    const { stdout } = await program.end();
    expect(stdout.slice(stdout.indexOf('"id":6,'))).not.toContain("delete_note");
  });

  test("or not at all: a mistake is said, and the last policy holds", async ({ startProgram }) => {
    const file = place();
    writeFileSync(file, `${SERVER}${rule("first")}`);
    const program = run(startProgram, "--config", file);
    program.say(HELLO);
    await program.hears('"id":0,');
    replace(file, `${SERVER}${rule("second").replace("block:", "blok:")}`);
    await program.complains("policy not reloaded, the previous policy stays in effect");
    await program.complains("Did you mean block?");
    // On lines of their own, as fairlead check writes them.
    await program.complains(`error ${file}:`);
    await program.complains(": Unknown action: blok\n");
    await program.complains("^^^^\n");
    program.say(call(1, "write_note"));
    await program.hears('"message":"first"');
    replace(file, `${SERVER}listen: 0\n${rule("third")}`);
    await program.complains("listen in ");
    program.say(call(2, "write_note"));
    await program.hears('"message":"third"');
    program.stdin.end();
    expect((await program.end()).code).toBe(0);
  });

  test("a file that is deleted is mentioned, and one that comes back is read", async ({ startProgram }) => {
    const file = place();
    writeFileSync(file, `${SERVER}${rule("first")}`);
    const program = run(startProgram, "--config", file);
    program.say(HELLO);
    await program.hears('"id":0,');
    rmSync(file);
    await program.complains("the policy file is gone, the previous policy stays in effect");
    program.say(call(1, "write_note"));
    await program.hears('"message":"first"');
    writeFileSync(file, `${SERVER}${rule("second")}`);
    await program.complains("policy reloaded");
    program.say(call(2, "write_note"));
    await program.hears('"message":"second"');
    program.stdin.end();
    await program.end();
  });

  test("also one that changed while the server was being reached", async ({ startProgram }) => {
    const file = place();
    writeFileSync(file, "tools: { deny: [^delete_] }\n");
    // The policy has been read by the time that the server is asked. Only then does the file change.
    const server = createServer((request, response) => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      replace(file, "tools: { deny: [^delete_, ^write_] }\n");
      request.toArray().then(
        (pieces) => {
          const { id, method } = JSON.parse(Buffer.concat(pieces).toString()) as { id?: number; method: string };
          if (id === undefined) return response.writeHead(202).end();
          const tools = [{ name: "write_note", inputSchema: { type: "object" } }];
          const capabilities = { tools: {} };
          const hello = { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "s", version: "1" } };
          response.writeHead(200, { "Content-Type": "application/json" });
          return response.end(
            JSON.stringify({ jsonrpc: "2.0", id, result: method === "initialize" ? hello : { tools } }),
          );
        },
        () => response.destroy(),
      );
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    const program = run(startProgram, "--config", file, "--upstream", `http://127.0.0.1:${port}/mcp`, "--listen", "0");
    await program.complains("listening");
    await program.complains("policy reloaded");
    server.closeAllConnections();
    server.close();
  });

  test("on SIGHUP, where clients come by HTTP; else that ends it", async ({ startProgram }) => {
    const file = place();
    writeFileSync(file, `${SERVER}${rule("first")}`);
    const program = run(startProgram, "--config", file, "--listen", "0");
    await program.complains("listening");
    process.kill(program.pid, "SIGHUP");
    await program.complains("policy reloaded");
    const alone = run(startProgram, "--config", file);
    alone.say(HELLO);
    await alone.hears('"id":0,');
    process.kill(alone.pid, "SIGHUP");
    expect((await alone.end()).code).toBe(1);
  });
});

describe.concurrent("explain", () => {
  test("says which rule, which condition and which value", async ({ startProgram }) => {
    const file = place();
    writeFileSync(file, rule("first"));
    const explain = (...words: string[]): Program => run(startProgram, "explain", "--config", file, ...words);
    const { stdout, code } = await explain("--message", call(1, "write_note").trim()).end();
    expect(code).toBe(0);
    expect(Buffer.from(stdout, "latin1").toString()).toBe(`tools/call write_note
  ✗ limit (line 3, priority 1): does not match
      ✗ tool_matches /^list_/, it is write_note
  ✓ write (line 7): matches
      ✓ tool_matches /^write_/, it is write_note
      → block

Outcome: refused by rule:write: -32001 first
`);
    const json = await explain("--format", "json", "--message", call(1, "list_notes").trim()).end();
    expect(JSON.parse(json.stdout)).toMatchObject({
      messages: [
        { method: "tools/call", tool: "list_notes", rules: [{ id: "limit", matched: "yes" }, { matched: "no" }] },
      ],
      outcome: "pass",
      rule: null,
    });
  });

  test("asks for a message", async ({ startProgram }) => {
    const { stderr, code } = await run(startProgram, "explain").end();
    expect([code, stderr.split("\n")[0]]).toEqual([1, "Error: No message to explain"]);
  });
});
