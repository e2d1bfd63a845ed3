import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Command } from "../../src/cli/command-line.ts";
import { findCommand } from "../../src/cli/commands.ts";
import { type Config, readConfig } from "../../src/cli/config.ts";
import { readHttpOptions } from "../../src/cli/http-options.ts";
import { parseCommandLine } from "../../src/cli/options.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { optionsOf } from "../../src/proxy/settings-options.ts";

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

/** The options of a proxy that speaks HTTP on one side or both. */
function options({ settings }: Config, ...words: string[]): Partial<ProxyOptions> {
  const parsed = parseCommandLine(words, findCommand("") as Command);
  return { ...optionsOf(settings), ...readHttpOptions(parsed, settings) };
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
    const { settings, policy, warnings } = await config(COMMAND + WHOLE);
    expect(settings).toMatchObject({
      upstream: {
        kind: "command",
        command: ["node", "s.mjs"],
        env: new Map([
          ["A", "1"],
          ["B", "2"],
        ]),
        cwd: join(folder, "sub"),
      },
      listen: { host: "::1", port: 8808 },
      deny: [{ source: "a,b{1,2}" }],
      allow: [{ source: "c" }],
      audit: { file: join(folder, "a.jsonl"), level: "all", onError: "block" },
      log: { level: "debug", format: "json", file: join(folder, "f.log") },
    });
    expect(optionsOf(settings)).toMatchObject({
      command: ["node", "s.mjs"],
      env: { A: "1", B: "2" },
      cwd: join(folder, "sub"),
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
      timeouts: { connection: 3000, toolList: 4000, childGrace: 5000, sessionIdle: 6000, slowReader: 7000 },
    });
    expect(policy).toMatchObject({ policyFolder: folder, policy: { tools: { notFound: "spec" } } });
    expect(warnings).toEqual([]);
  });

  test("a URL, with headers whose values are filled in once", async () => {
    const read = await config(
      `${REMOTE}auth: { jwks: 'https://h/k', issuer: i, audience: a, scopes: [s] }\nlisten: 1\n`,
    );
    expect(options(read)).toMatchObject({
      upstream: "http://h/mcp",
      headers: { "X-A": "1", Authorization: "Bearer t0p" },
      onLoss: "keep",
      listen: { host: "127.0.0.1", port: 1, auth: { jwks: "https://h/k", issuer: "i", audience: "a", scopes: ["s"] } },
    });
  });

  test("nothing at all is nothing at all", async () => {
    const { settings } = await config("version: 1\n");
    expect(settings).toMatchObject({ upstream: null, listen: null, auth: null, audit: null, deny: [], allow: [] });
    expect(settings.log).toEqual({ level: null, format: null, file: null });
    expect(optionsOf(settings)).toEqual({ deny: [], allow: [], limits: {}, timeouts: {} });
  });
});

describe("the command line wins", () => {
  test("option by option", async () => {
    const words = ["--listen", "9", "--log-level", "error", "--audit", "mine", "--tools-timeout", "1s", "--cwd", "/x"];
    const { settings } = await config(COMMAND + WHOLE, ...words, "--env", "B=3");
    expect(settings).toMatchObject({
      listen: { host: "127.0.0.1", port: 9 },
      log: { level: "error", format: "json" },
      audit: { file: "mine", level: "all", onError: "block" },
      timeouts: { toolList: 1000, connection: 3000 },
      upstream: { cwd: "/x" },
    });
    expect(optionsOf(settings).env).toEqual({ A: "1", B: "3" });
  });

  test("a level of the audit log takes the place of the classes in the file, and of nothing else", async () => {
    const text = `${COMMAND}audit: { file: a, include: { classes: [review], fields: [client] } }\n`;
    const include = async (...words: string[]) => (await config(text, ...words)).settings.audit?.include;
    expect(await include()).toEqual({ classes: ["review"], fields: ["client"] });
    expect(await include("--audit-level", "all")).toEqual({ classes: null, fields: ["client"] });
  });

  test("an issuer for the keys in the file", async () => {
    const text = "listen: 1\nauth: { jwks: 'https://h/k', issuer: i, audience: a, scopes: [s] }\n";
    expect((await config(text, "--auth-issuer", "mine", "--", "node")).settings.auth).toMatchObject({
      jwks: "https://h/k",
      issuer: "mine",
      audience: "a",
      scopes: ["s"],
    });
  });

  test("patterns take the place of those in the file, and that is said", async () => {
    const read = await config(WHOLE, "--deny", "x,y", "--", "node");
    expect(read.settings).toMatchObject({ deny: [{ source: "x" }, { source: "y" }], allow: [{ source: "c" }] });
    expect(read.policy.policy?.tools).toMatchObject({ deny: [{ source: "x" }, { source: "y" }] });
    expect(read.warnings).toEqual([`--deny takes the place of tools.deny in ${file}`]);
  });

  test("a header takes the place of one of its name, whatever the capitals", async () => {
    const read = await config(REMOTE, "--header", "authorization: mine");
    expect(options(read).headers).toEqual({ "X-A": "1", authorization: "mine" });
  });

  test("another server gets nothing that is for the one in the file", async () => {
    const remote = await config(REMOTE, "--upstream", "http://other/mcp");
    expect(options(remote)).toMatchObject({
      upstream: "http://other/mcp",
      headers: {},
      onLoss: "exit",
    });
    const command = await config(REMOTE, "--", "node");
    expect(command.settings.upstream).toEqual({ kind: "command", command: ["node"], env: new Map(), cwd: null });
    const both = await config(COMMAND, "--upstream", "http://other/mcp");
    const url = { kind: "url", url: "http://other/mcp", headers: new Map(), onLoss: null };
    expect(both.settings.upstream).toEqual(url);
  });

  test("other tokens", async () => {
    const text = "listen: 1\nauth: { jwks: 'https://h/k', issuer: i, audience: a, scopes: [s] }\n";
    const read = await config(text, "--auth-tokens", join(folder, "tokens.txt"), "--", "node");
    expect(options(read).listen?.auth).toMatchObject({ tokens: [{ name: "me" }] });
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
  expect(read.warnings).toEqual([]);
  expect(read.settings.auth).toMatchObject({ kind: "tokens", file: join(folder, "tokens.txt") });
});

test("warnings of the file have their place", async () => {
  const { warnings } = await config("interceptor: { mode: transport }\n");
  expect(warnings).toEqual([`${file}:1:22: mode: transport only relays: no rule and no interceptor is run`]);
});
