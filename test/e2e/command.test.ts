import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, vi } from "vitest";
import { peer } from "../support/peers.ts";
import { COMMAND, fixture, test } from "../support/processes.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "fairlead-command-")));
const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.concurrent("a reader that has seen enough is no failure", () => {
  const server = ["--", ...fixture("good.mjs")];
  test.for([["demo"], ["help"], ["version"], ["tools", ...server], ["tools", "--format=json", ...server]])(
    "%j",
    async (words, { startProgram }) => {
      // The pipe is closed before anything is written.
      const script = '{ sleep 0.5; "$@"; echo "exit $?" >&2; } | true';
      const program = startProgram(["sh", "-c", script, "sh", process.execPath, COMMAND, ...words], { env });
      expect(await program.end()).toMatchObject({ stderr: "exit 0\n", left: [] });
    },
  );

  test("and findings are findings all the same", async ({ startProgram }) => {
    const key = join(folder, "key");
    const log = join(folder, "broken.jsonl");
    writeFileSync(key, Buffer.alloc(32), { mode: 0o600 });
    writeFileSync(log, '{"log":"\n');
    const words = ["audit", "verify", "--key", key, log];
    const script = '{ sleep 0.5; "$@"; echo "exit $?" >&2; } | true';
    const program = startProgram(["sh", "-c", script, "sh", process.execPath, COMMAND, ...words], { env });
    expect(await program.end()).toMatchObject({ stderr: "exit 1\n", left: [] });
  });
});

test("the line that the demo gives to paste keeps a real server from changing files", async ({ startProgram }) => {
  const demo = await startProgram([process.execPath, COMMAND, "demo"], { cwd: folder }).end();
  const line = demo.stdout.split("\nwrite\n")[1].split("\n")[0];
  const { command, args } = JSON.parse(line) as { command: string; args: string[] };
  const at = args.indexOf("--") + 1;
  const [npx, yes, server, ...rest] = args.slice(at);
  expect([npx, yes, server, ...rest]).toEqual(["npx", "-y", "@modelcontextprotocol/server-filesystem", folder]);
  // The same package, as it is installed for the tests.
  const installed = peer(server, "mcp-server-filesystem").command;
  const client = startProgram([command, ...args.slice(0, at), ...installed, ...rest], { env });
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  client.say(
    { jsonrpc: "2.0", id: 0, method: "initialize", params },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
  );
  await client.hears('"id":1}'); // this server writes the id last
  const path = join(folder, "pasted.txt");
  const writing = { name: "write_file", arguments: { path, content: "x" } };
  client.say({ jsonrpc: "2.0", id: 2, method: "tools/call", params: writing });
  await client.hears('"id":2,');
  client.stdin.end();
  const { stdout } = await client.end();
  const answers = stdout
    .trimEnd()
    .split("\n")
    .map((each) => JSON.parse(each) as Answer);
  const names = answers.find(({ id }) => id === 1)?.result?.tools?.map(({ name }) => name) ?? [];
  expect(names).toContain("read_text_file");
  for (const name of ["write_file", "edit_file", "move_file", "create_directory"]) expect(names).not.toContain(name);
  expect(answers.find(({ id }) => id === 2)?.error?.message).toBe("Tool not found: write_file");
  expect(existsSync(path)).toBe(false);
});

/** What a server answers, as far as it matters here. */
interface Answer {
  readonly id?: number;
  readonly result?: { readonly tools?: readonly { readonly name: string }[] };
  readonly error?: { readonly message: string };
}

describe.concurrent("tools", () => {
  const demo = [process.execPath, COMMAND, "demo-server"];

  test("says which stay and which do not, why, and what that saves", async ({ startProgram }) => {
    const words = ["--allow", "_note$,^nosuch", "--deny", "^delete_", "--", ...demo];
    const { stdout, stderr } = await startProgram([process.execPath, COMMAND, "tools", ...words]).end();
    expect(stdout).toBe(`\
TOOL                                              BYTES  TOKENS
list_notes         hidden: not in the allow list     93     ~24
write_note         shown                            143     ~36
delete_note        hidden by ^delete_               156     ~39
delete_everything  hidden by ^delete_               103     ~26

4 tools: 1 shown, 3 hidden.
Shown:  143 bytes, ~36 tokens in a model's context.
Hidden: 352 bytes, ~88 tokens saved (71 %).
`);
    expect(stderr).toBe('Warning: pattern "^nosuch" matches no tool\n');
  });

  test("says what all of them cost where none is hidden", async ({ startProgram }) => {
    const { stdout } = await startProgram([process.execPath, COMMAND, "tools", "--", ...demo]).end();
    expect(stdout.split("\n").at(-2)).toBe("4 tools, none hidden: 495 bytes, ~124 tokens in a model's context.");
  });

  const odd = [
    "ok",
    "evil\u001B[31mRED\u001B]0;pwned\u0007",
    "safe\nlist_notes\nrm_rf",
    "c1\u009B31m",
    "bidi\u202Egnp",
    "filler\u3164x",
    "del\u007F",
  ];
  const script = join(folder, "odd.json");
  writeFileSync(script, JSON.stringify({ heard: join(folder, "odd.heard"), tools: odd }));

  test("prints a name on its line and as what it is, whatever is in it", async ({ startProgram }) => {
    const server = fixture("scripted.mjs", script);
    const tools = ["tools", "--log-level=error", "--format"];
    const names = await startProgram([process.execPath, COMMAND, ...tools, "names", "--", ...server]).end();
    expect(names.stdout).toBe(String.raw`ok
evil\u001b[31mRED\u001b]0;pwned\u0007
safe\u000alist_notes\u000arm_rf
c1\u009b31m
bidi\u202egnp
filler\u3164x
del\u007f
`);
    const json = await startProgram([process.execPath, COMMAND, ...tools, "json", "--", ...server]).end();
    expect(json.stdout).toMatch(/^[\n -~]*$/);
    const { tools: listed } = JSON.parse(json.stdout) as { tools: { name: string }[] };
    expect(listed.map(({ name }) => name)).toEqual(odd);
  });

  const what = "that the command is an MCP server on stdin and stdout";
  const more = ", or give it more time with --tools-timeout";
  test.for([
    ["sends back what it hears", ["cat"], `It sends back the messages that it receives\nCheck ${what}`],
    ["says nothing", ["sleep", "100"], `Request timeout after 1000ms\nIt said nothing: check ${what}${more}`],
    [
      "speaks to people",
      ["sh", "-c", "echo; echo Listening; cat >/dev/null"],
      `Request timeout after 1000ms\nIt wrote "Listening" to stdout, where only MCP messages may be: check ${what}${more}`,
    ],
    [
      "says yes to everything",
      ["yes"],
      `Request timeout after 1000ms\nIt wrote "y" to stdout, where only MCP messages may be: check ${what}${more}`,
    ],
    ["ends", ["sh", "-c", "exit 3"], `The server ended with exit code 3\nCheck ${what}`],
  ] as const)("what %s is no MCP server, and that is said in time", async ([, server, text], { startProgram }) => {
    const since = performance.now();
    const program = startProgram([process.execPath, COMMAND, "tools", "--tools-timeout", "1s", "--", ...server]);
    const stderr = `Error: Failed to fetch tool list from upstream MCP\n${text}\n`;
    expect(await program.end()).toEqual({ code: 1, signal: null, stdout: "", stderr, left: [] });
    expect(program.overSince - since).toBeLessThan(6000);
  });

  test("a server that is being installed is waited for, and not torn away from it", async ({ startProgram }) => {
    const place = mkdtempSync(join(folder, "installed-"));
    const words = ["tools", "--format", "names", "--", ...fixture("installer.mjs", place, "4500")];
    const patient = startProgram([process.execPath, COMMAND, ...words]);
    const { code, stdout, stderr, left } = await patient.end();
    expect({ code, left, stderr }).toEqual({
      code: 0,
      left: [],
      stderr: expect.stringMatching(
        /^(Waiting for the server: it is busy, and may be installing packages \(\d+ s\)\n)+$/,
      ) as string,
    });
    expect(stdout).not.toBe("");
    const other = mkdtempSync(join(folder, "interrupted-"));
    const hasty = startProgram([process.execPath, COMMAND, "tools", "--", ...fixture("installer.mjs", other, "60000")]);
    await vi.waitFor(() => expect(existsSync(join(other, "half"))).toBe(true), 10_000);
    process.kill(hasty.pid, "SIGINT");
    const end = await hasty.end();
    expect(end).toMatchObject({ code: 1, stdout: "", left: [] });
    expect(end.stderr).toContain("Failed to fetch tool list from upstream MCP\nInterrupted\n");
    expect(existsSync(join(other, "half"))).toBe(false);
  });
});

test("a server whose list changes all the time does not fill the log", async ({ start }) => {
  const fairlead = start(fixture("restless.mjs"), { options: ["--deny", "^delete_,^drop_"] });
  for (let id = 1; id <= 100; id++) {
    fairlead.say({ jsonrpc: "2.0", id, method: "tools/list" });
    await fairlead.hears(`"tool_${id}"`);
  }
  fairlead.stdin.end();
  const { stderr } = await fairlead.end();
  const lines = stderr.split("\n");
  expect(lines[0]).toMatch(/ info {2}tool list rule="tools:list" tools=1 hidden=0$/);
  expect(lines[1]).toMatch(/ warn {2}pattern matches no tool rule="tools:unmatched" pattern="\^delete_"$/);
  // Ten of each, in each window of ten seconds.
  expect(lines.length).toBeLessThan(50);
  expect(stderr).toMatch(/ more like this rule="tools:list"$/m);
});

describe.concurrent("a server that is lost", () => {
  const gone = [process.execPath, "-e", "process.exit(0)"];

  test("is told in two lines, and in the log file with a time", async ({ start }) => {
    const file = join(folder, "lost.log");
    const { stderr } = await start(gone, { options: ["--log-file", file, "--log-level", "error"] }).end();
    expect(stderr).toBe("Error: Lost connection to upstream MCP\nShutting down proxy\n");
    const lines = readFileSync(file, "utf8").replaceAll(/^\S+Z /gm, "@ ");
    expect(lines).toBe("@ error Lost connection to upstream MCP\n@ error Shutting down proxy\n");
  });

  test("is told as JSON where the log is JSON", async ({ start }) => {
    const { stderr } = await start(gone, { options: ["--log-format", "json", "--log-level", "error"] }).end();
    expect(
      stderr
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toMatchObject([{ level: "error", message: "Lost connection to upstream MCP", remedy: "Shutting down proxy" }]);
  });

  test("is told as JSON also where only the policy file says so", async ({ startProgram }) => {
    const config = join(folder, "json-log.yaml");
    writeFileSync(config, `upstream: { command: ${JSON.stringify(gone)} }\nlog: { format: json, level: error }\n`);
    const { stderr } = await startProgram([process.execPath, COMMAND, "--config", config]).end();
    expect(JSON.parse(stderr)).toMatchObject({ level: "error", message: "Lost connection to upstream MCP" });
  });
});
