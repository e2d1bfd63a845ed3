import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect } from "vitest";
import { COMMAND, fixture, type Program, test } from "../support/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-config-"));
const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function policy(text: string): string {
  const file = join(folder, `p${++files}.yaml`);
  writeFileSync(file, text);
  return file;
}

type StartProgram = (argv: readonly string[], options?: { env: Record<string, string> }) => Program;
const run = (startProgram: StartProgram, ...words: string[]): Program =>
  startProgram([process.execPath, COMMAND, ...words], { env });

const upstream = (...server: string[]): string => `upstream: { command: ${JSON.stringify(server)} }\n`;
const DEMO = upstream(process.execPath, COMMAND, "demo-server");
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';
const call = (name: string, id = 2): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{}}}\n`;

/** Says this to a Fairlead, and returns all that it answered. */
async function ask(program: Program, ...messages: string[]) {
  for (const message of messages) {
    program.say(message);
    await program.hears(`"id":${(JSON.parse(message) as { id: number }).id},`);
  }
  program.stdin.end();
  return program.end();
}

describe.concurrent("a policy file is all that is needed", () => {
  test("for a command on stdio", async ({ startProgram }) => {
    const file = policy(`${DEMO}tools: { deny: [^delete_] }\nlog: { level: error }\n`);
    const { stdout, stderr, code } = await ask(run(startProgram, "--config", file), LIST, call("delete_everything"));
    expect(stdout).not.toContain("delete_note");
    expect(stdout).toContain('{"code":-32601,"message":"Tool not found: delete_everything"}');
    expect([stderr, code]).toEqual(["", 0]);
  });

  test("for a command behind a door that asks for tokens", async ({ startProgram }) => {
    const token = "0123456789abcdef0123456789abcdef";
    writeFileSync(join(folder, "tokens.txt"), `me ${token}\n`, { mode: 0o600 });
    const file = policy(
      `${DEMO}listen: 0\nauth: { tokens: tokens.txt }\nlimits: { max_message: 1KB }\nlog: { file: door }\n`,
    );
    const program = run(startProgram, "--config", file);
    await program.complains("listening");
    const url = await doorIn("door");
    expect((await post(url, LIST)).status).toBe(401);
    const known = { Authorization: `Bearer ${token}` };
    expect((await post(url, HELLO, known)).status).toBe(200);
    expect((await post(url, call("x".repeat(1024)), known)).status).toBe(413);
  });

  test("for a URL, on stdio and behind a door, with headers", async ({ startProgram }) => {
    const heard = new Set<string | undefined>();
    const server = createServer((request, response) => {
      heard.add(request.headers.authorization);
      if (request.method !== "POST") return void response.writeHead(405).end();
      void json(request).then((message) => {
        const { id, method } = message as { id?: number; method?: string };
        if (id === undefined) return response.writeHead(202).end();
        const tools = ["keep", "delete_all"].map((name) => ({ name, inputSchema: { type: "object" } }));
        const greeting = {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "s", version: "1" },
        };
        response.writeHead(200, { "Content-Type": "application/json" });
        return response.end(
          JSON.stringify({ jsonrpc: "2.0", id, result: method === "initialize" ? greeting : { tools } }),
        );
      });
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const text = `upstream: { url: "http://127.0.0.1:${port}/mcp", headers: { Authorization: "Bearer \${TOKEN}" } }
tools: { deny: [^delete_] }\nlog: { file: door-2 }\n`;
    const start = (file: string): Program =>
      startProgram([process.execPath, COMMAND, "--config", file], { env: { ...env, TOKEN: "t0p" } });
    const expected = '{"tools":[{"name":"keep","inputSchema":{"type":"object"}}]}';
    expect((await ask(start(policy(text)), LIST)).stdout).toContain(expected);
    const door = start(policy(`${text}listen: 0\n`));
    await door.complains("listening");
    const url = await doorIn("door-2");
    await post(url, HELLO);
    expect(await (await post(url, LIST)).text()).toContain(expected);
    server.close();
    expect([...heard]).toEqual(["Bearer t0p"]);
  });

  test("for clients that a proxy names in a header", async ({ startProgram }) => {
    const rules = `interceptor:
  rules:
    - id: not-eve
      conditions: [{ method_equals: tools/call }, { identity_matches: ^eve$ }]
      actions: [{ block: Not for you }]
`;
    const file = policy(`${DEMO}listen: 0\nauth: { identity_header: X-User }\nlog: { file: door-3 }\n${rules}`);
    const program = run(startProgram, "--config", file);
    await program.complains("listening");
    const url = await doorIn("door-3");
    const begin = async (name: string): Promise<Record<string, string>> => {
      const { headers } = await post(url, HELLO, { "X-User": name });
      return { "X-User": name, "Mcp-Session-Id": headers.get("mcp-session-id") ?? "" };
    };
    const [ada, eve] = [await begin("ada"), await begin("eve")];
    expect(await (await post(url, call("list_notes"), ada)).text()).toContain('"result"');
    expect(await (await post(url, call("list_notes"), eve)).text()).toContain("Not for you");
    // Neither by the name of another one in her own session, nor in another one's session, nor by two spellings.
    expect((await post(url, call("list_notes"), { ...eve, "X-User": "ada" })).status).toBe(404);
    expect((await post(url, call("list_notes"), { ...ada, "X-User": "eve" })).status).toBe(404);
    expect((await post(url, call("list_notes"), { ...eve, X_User: "ada" })).status).toBe(400);
  });

  test("who can name themselves is not let in from everywhere without a word", async ({ startProgram }) => {
    const file = policy(`${DEMO}listen: 0.0.0.0:0\nauth: { identity_header: X-User }\n`);
    const refused = await run(startProgram, "--config", file).end();
    expect(refused.stderr).toContain("Refusing to listen without authentication");
    const program = run(startProgram, "--config", file, "--insecure-bind");
    await program.complains("can set the header x-user: make sure that only the proxy in front can reach it");
  });

  test("for fairlead tools", async ({ startProgram }) => {
    const file = policy(`${DEMO}tools: { allow: [_note$], deny: [^delete_] }\n`);
    const { stdout } = await run(startProgram, "tools", "--format", "names", "--config", file).end();
    expect(stdout).toBe("write_note\n");
  });
});

describe.concurrent("the command line wins", () => {
  test("over the server and the patterns of the file", async ({ startProgram }) => {
    const file = policy(`${upstream("/no/such/server")}tools: { deny: [.] }\n`);
    const words = ["--config", file, "--deny", "^delete_", "--", process.execPath, COMMAND, "demo-server"];
    const { stdout, stderr } = await ask(run(startProgram, ...words), LIST);
    expect(stdout).toContain('"write_note"');
    expect(stdout).not.toContain('"delete_note"');
    expect(stderr).toContain(` warn  --deny takes the place of tools.deny in ${file}\n`);
  });
});

describe.concurrent("settings of the file hold", () => {
  test("paths are where the file is, and the server starts there if asked to", async ({ startProgram }) => {
    const text = `upstream: { command: ${JSON.stringify(fixture("tell-tale.mjs"))}, cwd: ., env: { A_NAME: value } }
audit: { file: audit-1.jsonl }\nlog: { file: log-1, level: debug }\n`;
    const { stdout } = await ask(run(startProgram, "--config", policy(text)), call("x"));
    const { result } = JSON.parse(stdout) as { result: { cwd: string; env: Record<string, string> } };
    expect([result.cwd, result.env["A_NAME"]]).toEqual([folder, "value"]);
    expect(readFileSync(join(folder, "audit-1.jsonl"), "utf8")).toContain('"method":"tools/call"');
    expect(readFileSync(join(folder, "log-1"), "utf8")).toContain(" debug started");
  });

  test("a message is as large as it may be", async ({ startProgram }) => {
    const file = policy(`${DEMO}limits: { max_message: 100B }\n`);
    const { stdout } = await ask(run(startProgram, "--config", file), call("x".repeat(100)));
    expect(stdout).toContain('"id":2,"error":{"code":-32600,"message":"Invalid request: message too large"');
  });

  test("a child has the time it is given", async ({ startProgram }) => {
    const file = policy(`${upstream(...fixture("stubborn.mjs"))}timeouts: { child_grace: 300ms }\n`);
    const program = run(startProgram, "--config", file);
    await program.sees("stubborn.mjs");
    const since = performance.now();
    program.stdin.end();
    await program.end();
    expect(program.overSince - since).toBeLessThan(4000);
  });

  test("what cannot be audited does not pass, if that is asked for", async ({ startProgram }) => {
    const file = policy(`${DEMO}tools: { deny: [^delete_] }\naudit: { file: /dev/full, on_error: block }\n`);
    const program = run(startProgram, "--config", file);
    const ping = '{"jsonrpc":"2.0","id":4,"method":"ping"}\n';
    const { stdout, stderr } = await ask(program, call("write_note"), call("delete_note", 3), ping);
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: number; error?: object });
    expect(answers).toMatchObject([
      { id: 2, error: { code: -32603, message: "Internal proxy error" } },
      { id: 3, error: { code: -32601, message: "Tool not found: delete_note" } },
      { id: 4, result: {} },
    ]);
    expect(stderr).toContain('a message did not pass: the audit log cannot be written rule="audit"');
  });

  test("and passes if not", async ({ startProgram }) => {
    const file = policy(`${DEMO}audit: { file: /dev/full }\n`);
    const { stdout } = await ask(run(startProgram, "--config", file), call("write_note"));
    expect(stdout).toContain('"id":2,"result"');
  });
});

test("a file with mistakes starts nothing, and all of them are told", async ({ startProgram }) => {
  const file = policy(`${upstream(...fixture("tell-tale.mjs"))}tols: {}\nlisten: 70000\n`);
  const program = run(startProgram, "--config", file);
  const { code, stdout, stderr } = await program.end();
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr.replaceAll(file, basename(file))).toBe(`\
Error: ${basename(file)} has 2 mistakes

${basename(file)}:2:1: Unknown key: tols
 2 | tols: {}
   | ^^^^
   = Did you mean tools?

${basename(file)}:3:9: listen must be a whole number from 0 to 65535, not 70000
 3 | listen: 70000
   |         ^^^^^

Nothing was started: without a valid policy nothing is let through
`);
});

/** What a policy file takes. */
const ENGINE = ["cli-config.cjs", "cli-reload.cjs", "fairlead.cjs", "proxy-engine.cjs"];

describe.concurrent("what is not used is not loaded", () => {
  const spy = join(folder, "spy.cjs");
  writeFileSync(
    spy,
    `process.on("exit", () => {
  const own = Object.keys(require.cache).map((name) => require("path").basename(name)).filter((name) => name !== "spy.cjs");
  require("fs").writeFileSync(process.env.LOADED, JSON.stringify(own.sort()));
});`,
  );
  test.for([
    ["no policy file", null, ["fairlead.cjs"]],
    ["no rules", "tools: { deny: [a] }\n", [...ENGINE]],
    ["no patterns", rule("{ method_equals: tools/call }"), [...ENGINE]],
    ["no expressions", rule('{ tool_matches: "a{2}" }'), [...ENGINE, "rules-patterns.cjs", "re2js.cjs"]],
    [
      "an expression without patterns",
      rule('{ cel: "params.n > 1" }'),
      [...ENGINE, "marcbachmann-cel-js.cjs", "rules-cel.cjs"],
    ],
  ] as const)("with %s", async ([name, text, expected], { startProgram }) => {
    const loaded = join(folder, `loaded-${name.replaceAll(" ", "-")}`);
    const server = ["--", ...fixture("good.mjs")];
    const config = text === null ? [] : ["--config", policy(text)];
    const program = startProgram([process.execPath, "--require", spy, COMMAND, ...config, ...server], {
      env: { ...env, LOADED: loaded },
    });
    program.stdin.end();
    await program.end();
    expect(JSON.parse(readFileSync(loaded, "utf8"))).toEqual(
      [...expected].sort((one, other) => (one < other ? -1 : 1)),
    );
  });
});

test("what names a command is not loaded where clients come by HTTP and nothing shows the name", async ({
  startProgram,
}) => {
  const spy = join(folder, "spy-http.cjs");
  const loaded = join(folder, "loaded-http");
  writeFileSync(
    spy,
    `process.on("exit", () => require("fs").writeFileSync(process.env.LOADED, Object.keys(require.cache).join("\\n")));`,
  );
  const server = ["--listen", "0", "--", ...fixture("good.mjs")];
  const program = startProgram([process.execPath, "--require", spy, COMMAND, ...server], {
    env: { ...env, LOADED: loaded },
  });
  await program.complains("listening");
  process.kill(program.pid, "SIGTERM");
  await program.end();
  expect(readFileSync(loaded, "utf8")).toContain("proxy-http-proxy.cjs");
  expect(readFileSync(loaded, "utf8")).not.toContain("proxy-server-name.cjs");
});

function rule(condition: string): string {
  return `interceptor: { rules: [{ id: r, conditions: [${condition}], actions: [{ block: no }] }] }\n`;
}

/** Where a Fairlead listens, by its log. It says so on stderr first. */
async function doorIn(log: string): Promise<string> {
  for (;;) {
    const url = /listening url="(.*)"/.exec(readFileSync(join(folder, log), "utf8"))?.[1];
    if (url !== undefined) return url;
    await delay(10);
  }
}

const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const both = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  return fetch(url, { method: "POST", headers: { ...both, ...headers }, body });
}
