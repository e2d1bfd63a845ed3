import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";

afterEach(() => vi.restoreAllMocks());

/** What the command says to this command line: its exit code, and what it wrote where. */
async function answer(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text, ...rest: unknown[]) => {
      written[name] += String(text);
      const done = rest.find((each) => typeof each === "function") as (() => void) | undefined;
      done?.();
      return true;
    });
  }
  return { code: await main(args), ...written };
}

async function refusal(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await answer(...args);
  expect(code).toBe(args[0] === "audit" ? 2 : 1);
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^Error: .*\n.*\n$/);
  return stderr.slice("Error: ".length).trimEnd().replace("\n", " | ");
}

describe("a command line without the two dashes is shown with them", () => {
  const write = "Write the server's command after two dashes:";
  const server = "npx -y @modelcontextprotocol/server-filesystem .";

  test("with the options and the command that were typed", async () => {
    expect(await refusal("--deny", "^a b$", "npx", "-y", "some-server")).toBe(
      `Unexpected word: npx | ${write} fairlead --deny '^a b$' -- npx -y some-server`,
    );
    expect(await refusal("tools", "--allow=it's", "npx", "-y", "server")).toBe(
      `Unexpected word: npx | ${write} fairlead tools '--allow=it'\\''s' -- npx -y server`,
    );
    expect(await refusal("tools", "npx", "-y", "server")).toContain("fairlead tools -- npx -y server");
    expect(await refusal("npx", "-y", "server", "")).toBe(
      "Unknown command: npx | To start a server, write: fairlead -- npx -y server ''",
    );
  });

  test("also where no server is named at all", async () => {
    expect(await refusal("tools", "--deny", "x")).toBe(
      `No server to start | ${write} fairlead tools --deny x -- ${server}`,
    );
    expect(await refusal("--", "")).toBe(`The server's command is empty: "" | ${write} fairlead -- ${server}`);
  });

  test("without the quotes that make one word of it", async () => {
    expect(await refusal("npx -y some-server")).toBe(
      'Unknown command: "npx -y some-server" | To start a server, write, without the quotes: fairlead -- npx -y some-server',
    );
    expect(await refusal("--deny", "x", "npx -y 'a b'")).toContain("fairlead --deny x -- npx -y 'a b'");
    expect(await refusal("--", "npx -y some-server")).toBe(
      'Command not found: "npx -y some-server" | The name has spaces in it: remove the quotes around the whole command',
    );
    expect(await refusal("--", "/no such/program")).toContain("Check the spelling");
  });

  test("but not with patterns that are none", async () => {
    const none = 'Option --deny cannot be "," | Write --deny <re,re,…>';
    expect(await refusal("--deny", ",")).toBe(none);
    expect(await refusal("tools", "--deny", ",")).toBe(none);
  });

  test("but not with the values of variables, which may be secrets", async () => {
    const line = await refusal("--env", "TOKEN=hunter2", "--env=KEY=hunter3", "npx", "server");
    expect(line).toContain("fairlead --env TOKEN=… --env=KEY=… -- npx server");
  });

  test("unless they are there, and a word too many is before them", async () => {
    expect(await refusal("--deny", "a,", "b", "--", "npx", "server")).toBe(
      "Unexpected word: b | Only options stand before the two dashes; a value with spaces in it needs quotes",
    );
    expect(await refusal("--deny", "x", "tools", "--", "npx", "server")).toBe(
      "Unexpected word: tools | The command comes first: fairlead tools --deny x -- npx server",
    );
  });
});

describe("what is not known is named, with what could have been meant", () => {
  const all = "The commands are: tools, check, explain, audit, demo, help, version";

  test("commands", async () => {
    expect(await refusal("tolos")).toBe("Unknown command: tolos | Did you mean fairlead tools?");
    expect(await refusal("deno", "run", "server.ts")).toBe(
      "Unknown command: deno | Did you mean fairlead demo? To start a server, write: fairlead -- deno run server.ts",
    );
    expect(await refusal("")).toBe(`Unknown command: "" | ${all}`);
    expect(await refusal("nosuch", "--", "npx")).toBe(`Unknown command: nosuch | ${all}`);
    expect(await refusal("help", "nosuch")).toBe(`Unknown command: nosuch | ${all}`);
    expect(await refusal("help", "tool")).toBe(`Unknown command: tool | ${all}. Did you mean fairlead help tools?`);
  });

  test("options of another command", async () => {
    const format =
      "Unknown option: --format | --format belongs to fairlead tools and fairlead check and fairlead explain";
    expect(await refusal("--format", "json", "--", "npx")).toBe(format);
    expect(await refusal("--format=json", "tools", "--", "npx")).toBe(format);
    expect(await refusal("tools", "--audit", "x", "--", "npx")).toBe(
      "Unknown option: --audit | --audit belongs to fairlead",
    );
    expect(await refusal("audit", "verify", "--deny", "x")).toBe(
      "Unknown option: --deny | --deny belongs to fairlead and fairlead tools",
    );
  });

  test("options from elsewhere", async () => {
    expect(await refusal("-v")).toBe(
      "Unknown option: -v | For the version, write --version or -V. To see more, write --log-level debug",
    );
    expect(await refusal("tools", "--verbose", "--", "npx")).toContain("--log-level debug");
  });

  test("words that stand where none may", async () => {
    expect(await refusal("version", "1")).toBe("Unexpected word: 1 | Write fairlead version");
    expect(await refusal("demo", "a b")).toBe('Unexpected word: "a b" | Write fairlead demo');
    expect(await refusal("demo", "--", "npx")).toBe("Unexpected word: npx | Write fairlead demo");
    expect(await refusal("help", "tools", "audit")).toBe("Unexpected word: audit | Write fairlead help [command]");
    expect(await refusal("audit", "verfiy", "x")).toBe("Unknown word: verfiy | Did you mean fairlead audit verify?");
  });
});

const header = (text: string): Promise<string> => refusal("--upstream", "http://127.0.0.1:9/", "--header", text);

test("a header without a colon is shown, so far as it is not a secret", async () => {
  const why = "There is no colon in it: write --header 'Name: value'";
  expect(await header("Authorization")).toBe(`Not a header: --header Authorization | ${why}`);
  expect(await header("X-Api-Key abc123")).toBe(`Not a header: --header "X-Api-Key…" | ${why}`);
  expect(await header("Authorization=Bearer abc123")).toBe(`Not a header: --header "Authorization…" | ${why}`);
  expect(await header("ghp_abcdef123456")).toBe(`Not a header: --header "ghp…" | ${why}`);
  expect(await header("X Key: abc123")).toBe(`Not a header: --header "X…" | Write --header 'Name: value'`);
});

const explain = (text: string, ...more: string[]): Promise<string> => refusal("explain", "--message", text, ...more);

test("what is not a message is not explained", async () => {
  const example = `Write JSON-RPC, such as '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`;
  for (const [text, problem] of [
    ["hello", "it is not JSON"],
    ["7", "it is not an object"],
    ["{}", "it has neither method, result nor error"],
    ["[]", "the list is empty"],
    ["[7]", "it is not an object"],
    ['{"name":"read_file"}', "it has neither method, result nor error"],
  ])
    expect(await explain(text)).toBe(`The value of --message is not a message: ${problem} | ${example}`);
  const answer = '{"jsonrpc":"2.0","id":1,"result":{}}';
  expect(await explain(answer, "--request", "x")).toContain("The value of --request is not a message: it is not JSON");
});

test("an option that means nothing without another is refused", async () => {
  expect(await refusal("--audit-level", "all", "--", "npx")).toBe(
    "Option --audit-level needs --audit | Give --audit <file> as well, or leave --audit-level out",
  );
  for (const option of ["--auth-tokens", "--tls-cert", "--allow-host"]) {
    expect(await refusal(option, "x", "--", "npx")).toBe(
      `Option ${option} needs --listen | Give --listen <port> as well, or leave ${option} out`,
    );
  }
  expect(await refusal("--header", "A: b", "--", "npx")).toContain("Give --upstream <url> as well");
});

test.skipIf(process.platform === "win32")("a log goes into files, and not into pipes or devices", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-cli-"));
  const pipe = join(folder, "pipe");
  spawnSync("sh", ["-c", `mkfifo "${pipe}"`]);
  const server = ["--", "/no/such/server"];
  const missing = "Command not found: /no/such/server | Check the spelling, or give the full path";
  const [noFile, noReader] = [
    "It is not a regular file: to write the log somewhere else, redirect stderr",
    "ENXIO: check the path and its permissions",
  ];
  expect(await refusal("--log-file", pipe, ...server)).toBe(`Cannot write to ${pipe} | ${noReader}`);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  expect(await refusal("--log-file", pipe, ...server)).toBe(`Cannot write to ${pipe} | ${noFile}`);
  closeSync(reader);
  expect(await refusal("--log-file", "/dev/zero", ...server)).toBe(`Cannot write to /dev/zero | ${noFile}`);
  for (const file of [join(folder, "log"), "/dev/null", "/dev/stderr"]) {
    expect(await refusal("--log-file", file, ...server)).toBe(missing);
  }
  rmSync(folder, { recursive: true });
});

test("help and version are had in every usual way", async () => {
  const help = await answer("help");
  expect(help).toMatchObject({ code: 0, stderr: "" });
  for (const args of [[], ["-h"], ["--help"], ["--audit-level=all", "-h"]]) expect(await answer(...args)).toEqual(help);
  const ofTools = await answer("help", "tools");
  expect(ofTools.stdout).toContain("fairlead tools [options]");
  for (const word of ["-h", "--help"]) expect(await answer("tools", word)).toEqual(ofTools);
  for (const word of ["version", "--version", "-V"]) {
    expect(await answer(word)).toEqual({ code: 0, stdout: "fairlead 0.0.0-source\n", stderr: "" });
  }
});
