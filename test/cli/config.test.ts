import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Command, findCommand } from "../../src/cli/commands.ts";
import { type Config, readConfig } from "../../src/cli/config.ts";
import { readHttpOptions } from "../../src/cli/http-options.ts";
import { parseCommandLine } from "../../src/cli/options.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-config-"));
const file = join(folder, "p.yaml");
writeFileSync(join(folder, "tokens.txt"), "me 0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a policy file adds to these words. */
function config(text: string, ...words: string[]): Promise<Config> {
  writeFileSync(file, text);
  const command = findCommand("") as Command;
  return readConfig(parseCommandLine(["--config", file, ...words], command), command, { TOKEN: "t0p" });
}

/** The options of both, by name; those that are given several times as a list. */
function optionsOf({ parsed }: Config): Record<string, string | readonly string[]> {
  const all = Array.from(parsed.values, ([name, values]) => [name, name === "env" ? values : values[0]] as const);
  return Object.fromEntries(all.filter(([name]) => name !== "config"));
}

const WHOLE = `
listen: "[::1]:8808"
timeouts: { connection: 3s, tool_list: 4s, child_grace: 5s, session_idle: 6s, slow_reader: 7s }
limits: { max_message: 1KB, max_depth: 9, max_buffer: 2KB, max_open_calls: 2, max_sessions: 3, max_parked: 4B, max_children: 5, max_connections: 6, max_upstream_connections: 7 }
audit: { file: a.jsonl, level: all, on_error: block }
log: { level: debug, format: json, file: f.log }
tools: { deny: ["a,b{1,2}"], allow: [c], not_found: spec }
`;
const COMMAND = "upstream: { command: [node, s.mjs], env: { A: '1', B: '2' }, cwd: sub }\n";
const REMOTE =
  "upstream: { url: 'http://h/mcp', headers: { X-A: '1', Authorization: 'Bearer ${TOKEN}' }, on_loss: keep }\n";

describe("what a file says is as if it had been typed", () => {
  test("a command, and all settings", async () => {
    const read = await config(COMMAND + WHOLE);
    expect(read.parsed.rest).toEqual(["node", "s.mjs"]);
    expect(optionsOf(read)).toEqual({
      env: ["A=1", "B=2"],
      cwd: join(folder, "sub"),
      listen: "[::1]:8808",
      "connect-timeout": "3000ms",
      "tools-timeout": "4000ms",
      audit: join(folder, "a.jsonl"),
      "audit-level": "all",
      "log-level": "debug",
      "log-format": "json",
      "log-file": join(folder, "f.log"),
    });
    expect(read).toMatchObject({
      deny: [{ source: "a,b{1,2}" }],
      allow: [{ source: "c" }],
      limits: {
        maxMessageBytes: 1024,
        maxDepth: 9,
        maxBufferBytes: 2048,
        maxOpenCalls: 2,
        maxSessions: 3,
        maxParkedBytes: 4,
        maxChildren: 5,
        maxConnections: 6,
        maxUpstreamConnections: 7,
      },
      timeouts: { childGrace: 5000, sessionIdle: 6000, slowReader: 7000 },
      mustAudit: true,
      policy: { policyFolder: folder, policy: { tools: { notFound: "spec" } } },
      warnings: [],
    });
  });

  test("a URL, with headers whose values are filled in once", async () => {
    const read = await config(
      `${REMOTE}auth: { jwks: 'https://h/k', issuer: i, audience: a, scopes: [s] }\nlisten: 1\n`,
    );
    expect(readHttpOptions(read.parsed, read)).toMatchObject({
      upstream: "http://h/mcp",
      headers: { "X-A": "1", Authorization: "Bearer t0p" },
      onLoss: "keep",
      listen: { host: "127.0.0.1", port: 1, auth: { jwks: "https://h/k", issuer: "i", audience: "a", scopes: ["s"] } },
    });
  });

  test("nothing at all is nothing at all", async () => {
    const read = await config("version: 1\n");
    expect(optionsOf(read)).toEqual({});
    expect(read).toMatchObject({ deny: [], allow: [], limits: {}, timeouts: {}, mustAudit: false });
  });
});

describe("the command line wins", () => {
  test("option by option", async () => {
    const words = ["--listen", "9", "--log-level", "error", "--audit", "mine", "--tools-timeout", "1s", "--cwd", "/x"];
    const read = await config(COMMAND + WHOLE, ...words, "--env", "B=3");
    expect(optionsOf(read)).toMatchObject({
      listen: "9",
      "log-level": "error",
      "log-format": "json",
      audit: "mine",
      "audit-level": "all",
      "tools-timeout": "1s",
      cwd: "/x",
      env: ["A=1", "B=2", "B=3"],
    });
  });

  test("patterns take the place of those in the file, and that is said", async () => {
    const read = await config(WHOLE, "--deny", "x,y", "--", "node");
    expect(read).toMatchObject({ deny: [{ source: "x" }, { source: "y" }], allow: [{ source: "c" }] });
    expect(read.policy.policy?.tools).toMatchObject({ deny: [{ source: "x" }, { source: "y" }] });
    expect(read.warnings).toEqual([`--deny takes the place of tools.deny in ${file}`]);
  });

  test("a header takes the place of one of its name, whatever the capitals", async () => {
    const read = await config(REMOTE, "--header", "authorization: mine");
    expect(readHttpOptions(read.parsed, read).headers).toEqual({ "X-A": "1", authorization: "mine" });
  });

  test("another server gets nothing that is for the one in the file", async () => {
    const remote = await config(REMOTE, "--upstream", "http://other/mcp");
    expect(readHttpOptions(remote.parsed, remote)).toMatchObject({
      upstream: "http://other/mcp",
      headers: {},
      onLoss: "exit",
    });
    const command = await config(REMOTE, "--", "node");
    expect([command.parsed.rest, optionsOf(command), command.headers.size]).toEqual([["node"], {}, 0]);
    const both = await config(COMMAND, "--upstream", "http://other/mcp");
    expect([both.parsed.rest, optionsOf(both)]).toEqual([null, { upstream: "http://other/mcp" }]);
  });

  test("other tokens", async () => {
    const text = "listen: 1\nauth: { jwks: 'https://h/k', issuer: i, audience: a, scopes: [s] }\n";
    const read = await config(text, "--auth-tokens", join(folder, "tokens.txt"), "--", "node");
    expect(readHttpOptions(read.parsed, read).listen?.auth).toMatchObject({ tokens: [{ name: "me" }] });
  });
});

test("an option may go with what only the file has, and only with that", async () => {
  await expect(config(REMOTE, "--header", "A: b", "--on-loss", "exit")).resolves.toBeDefined();
  await expect(config("audit: { file: a }", "--audit-level", "all", "--", "node")).resolves.toBeDefined();
  await expect(config(COMMAND, "--header", "A: b")).rejects.toThrow("Option --header needs --upstream");
  await expect(config(REMOTE, "--header", "A: b", "--", "node")).rejects.toThrow("Option --header needs --upstream");
});

test("who may come in is not asked where nobody comes, and that is said", async () => {
  const text = `${COMMAND}auth: { tokens: tokens.txt }\n`;
  expect((await config(text)).warnings).toEqual([`auth in ${file} has no effect: clients do not come by HTTP`]);
  const read = await config(text, "--listen", "1");
  expect([read.warnings, optionsOf(read)["auth-tokens"]]).toEqual([[], join(folder, "tokens.txt")]);
});

test("warnings of the file have their place", async () => {
  const { warnings } = await config("interceptor: { mode: transport }\n");
  expect(warnings).toEqual([`${file}:1:22: mode: transport only relays: no rule and no interceptor is run`]);
});
