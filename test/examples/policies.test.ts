import { type Schema, Validator } from "@cfworker/json-schema";
import { load } from "js-yaml";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { composeMistakes } from "../../src/config/compose-mistakes.ts";
import { composeJsonSchema } from "../../src/config/json-schema.ts";
import { readPolicy } from "../../src/config/read-policy.ts";
import { loadCel } from "../../src/rules/cel.ts";
import { loadPatterns } from "../../src/rules/patterns.ts";
import { root } from "../support/docs.ts";
import { call, line, result, type RuleOptions, stageRules } from "../support/rules.ts";

const folder = join(root, "examples/policies");
const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
const env = { GITHUB_TOKEN: "t", APPROVAL_SECRET: "s" };

test.each(names)("%s has neither mistakes nor warnings, and the page names it", async (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  const engines = { pattern: await loadPatterns(), cel: await loadCel(["matches"]) };
  const { mistakes, warnings } = readPolicy(text, { file: name, env, engines });
  expect(composeMistakes([...mistakes, ...warnings], "text")).toBe("");
  expect(readFileSync(join(folder, "README.md"), "utf8")).toContain(`(${name})`);
});

describe("a policy that was copied", () => {
  // How the YAML language server finds the line that names a schema. A path is relative to the file.
  const MODELINE = /^#\s+yaml-language-server\s*:.*\$schema=(\S+)/gm;
  const copies = mkdtempSync(join(tmpdir(), "fairlead-copy-"));
  afterAll(() => rmSync(copies, { recursive: true, force: true }));

  test.each(names)("names no schema that is not there: %s", (name) => {
    const text = readFileSync(join(folder, name), "utf8");
    for (const [, path] of text.matchAll(MODELINE)) expect(existsSync(join(copies, path)), path).toBe(true);
  });

  test.each(names)("is known to editors when its first two lines were followed: %s", (name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const [first, second] = text.split("\n");
    const [, written] = /^# For help in your editor: fairlead check --schema >(\S+)$/.exec(first) ?? [];
    const [, modeline] = /^# and as the first line: {3}(# yaml-language-server: .*)$/.exec(second) ?? [];
    const schema = composeJsonSchema();
    writeFileSync(join(copies, written), JSON.stringify(schema));
    const [[, path]] = `${modeline}\n${text}`.matchAll(MODELINE);
    const found = JSON.parse(readFileSync(join(copies, path), "utf8")) as Schema;
    const { valid, errors } = new Validator(found, "2020-12", false).validate(load(text));
    expect(errors).toEqual([]);
    expect(valid).toBe(true);
  });
});

/** The tools that a server had when its list was recorded, with the names of their arguments. */
function recorded(server: string): Record<string, string[]> {
  const file = join(root, "test/fixtures/tool-lists", `${server}.json`);
  return (JSON.parse(readFileSync(file, "utf8")) as { tools: Record<string, string[]> }).tools;
}

describe("a policy for a named server is a list of what is allowed", () => {
  const SERVERS: Readonly<Record<string, readonly [server: string, hidden: readonly string[]]>> = {
    "append-only-memory": ["server-memory", ["delete_entities", "delete_observations", "delete_relations"]],
    "cache-reads": ["server-fetch", []],
    "default-deny": ["server-git", ["git_reset", "git_create_branch", "git_checkout"]],
    "github-without-deletes": [
      "server-github",
      ["fork_repository", "merge_pull_request", "update_pull_request_branch"],
    ],
    "rate-limited-browser": [
      "playwright-mcp",
      [
        "browser_emulate_media",
        "browser_evaluate",
        "browser_file_upload",
        "browser_drop",
        "browser_network_request",
        "browser_run_code_unsafe",
      ],
    ],
    "read-only-database": ["server-postgres", []],
    "read-only-filesystem": ["server-filesystem", ["write_file", "edit_file", "create_directory", "move_file"]],
  };

  test("every policy that names a server is here", () => {
    const naming = names.filter((name) => /^upstream:/m.test(readFileSync(join(folder, name), "utf8")));
    expect(naming).toEqual([...Object.keys(SERVERS), "shell-guard"].sort().map((name) => `${name}.yaml`));
  });

  test.each(Object.entries(SERVERS))("%s", async (name, [server, hidden]) => {
    const offered = Object.keys(recorded(server));
    const tools = [...offered, "brand_new_tool", "git_push", "browser_new", "delete_repository"];
    const { listed, refused, calls } = await behind(name, { tools });
    expect(listed).toEqual(offered.filter((tool) => !hidden.includes(tool)));
    for (const tool of tools.filter((each) => !listed.includes(each)))
      await refused(`Tool not found: ${tool}`, calls(tool));
    expect(readFileSync(join(folder, `${name}.yaml`), "utf8")).toContain("# What this cannot see: ");
  });

  test.each(Object.entries(SERVERS))(
    "%s speaks of no tool or argument that the server does not have",
    async (name, [server]) => {
      const text = readFileSync(join(folder, `${name}.yaml`), "utf8");
      const engines = { pattern: await loadPatterns(), cel: await loadCel(["matches"]) };
      const tools = Object.entries(recorded(server)).map(([tool, members]) => ({
        name: tool,
        inputSchema: { type: "object", properties: Object.fromEntries(members.map((member) => [member, {}])) },
      }));
      const { warnings } = readPolicy(text, { file: name, env, engines, facts: { tools } });
      // That one is for two servers.
      const expected = name === "read-only-database" ? ["arguments.query is not an argument of query"] : [];
      const said = warnings.map(({ message }) => message).filter((message) => !/list_tables/.test(message));
      expect([...new Set(said)]).toEqual(expected);
    },
  );
});

/** A conversation behind one of the policies, with a server that offers some tools. */
async function behind(name: string, options: RuleOptions & { readonly tools?: readonly string[] } = {}) {
  const played = await stageRules(readFileSync(join(folder, `${name}.yaml`), "utf8"), { ...options, env, folder });
  const { client, server, heard } = played;
  let id = 0;
  if (options.tools !== undefined) {
    await client(line({ id: "list", method: "tools/list" }));
    await server(result("list", { tools: options.tools.map((tool) => ({ name: tool, inputSchema: {} })) }));
  }
  const listed = [...heard("client").matchAll(/"name":"(\w+)"/g)].map(([, tool]) => tool);
  heard("server");

  /** Says something under an id of its own, and tells what each side heard. */
  async function say(said: string): Promise<{ server: string; client: string }> {
    await client(said);
    return { server: heard("server"), client: heard("client") };
  }

  return {
    ...played,
    listed,
    ask: (method: string, params: object) => line({ id: ++id, method, params }),
    calls: (tool: string, args: object = {}) => call(++id, tool, args),
    async passes(...lines: string[]): Promise<void> {
      for (const said of lines) expect(await say(said)).toEqual({ server: said, client: "" });
    },
    async refused(reason: string, ...lines: string[]): Promise<void> {
      for (const said of lines) {
        const { server: up, client: back } = await say(said);
        expect({ said, up, reason: back === "" ? "" : messageOf(back) }).toEqual({ said, up: "", reason });
      }
    },
    /** What the server hears of something. */
    becomes: async (said: string): Promise<string> => (await say(said)).server,
    /** What the client hears of an answer to a call. */
    async answers(tool: string, value: object, args: object = {}): Promise<string> {
      const said = call(++id, tool, args);
      await client(said);
      heard("server");
      await server(result(id, value));
      return heard("client");
    },
  };
}

function messageOf(answer: string): string {
  return (JSON.parse(answer) as { error: { message: string } }).error.message;
}

const text = (...texts: string[]) => ({ content: texts.map((each) => ({ type: "text", text: each })) });

describe("read-only-filesystem", () => {
  const tools = ["read_text_file", "read_multiple_files", "list_directory", "write_file", "format_disk"];

  test("reads below the directory, byte for byte", async () => {
    const { calls, passes, listed } = await behind("read-only-filesystem", { tools });
    expect(listed).toEqual(["read_text_file", "read_multiple_files", "list_directory"]);
    await passes(
      calls("read_text_file", { path: "/home/you/projects/a/../b.txt" }),
      calls("read_multiple_files", { paths: ["/home/you/projects/a", "/home/you/projects/b"] }),
      '{"method":"tools/call", "id":"x","jsonrpc":"2.0","params":{"arguments":{"path":"/home/you/pr\\u006fjects", "head":1e1},"name":"list_directory"}}\n',
    );
  });

  test("refuses what writes, what is elsewhere, and what is spelled to look as if it were not", async () => {
    const { calls, refused } = await behind("read-only-filesystem", { tools });
    await refused("Tool not found: write_file", calls("write_file", { path: "/home/you/projects/a" }));
    await refused("Tool not found: Read_Text_File", calls("Read_Text_File", { path: "/etc/passwd" }));
    const paths = [
      "/etc/passwd",
      "/home/you/projects/../../other",
      "/home/you/projects-of-others/a",
      "/home/you/projects/%2e%2e/%2e%2e/other",
      "/home/you/projects/..\\..\\other",
      "../other",
      "",
      ["/home/you/projects/a", ["/etc/passwd"]],
      { path: "/home/you/projects" },
      7,
    ];
    await refused("Outside of the project", ...paths.map((path) => calls("read_text_file", { path })));
    await refused(
      "Outside of the project",
      calls("read_text_file"),
      calls("read_multiple_files", { paths: ["/home/you/projects/a", "/home/you/projects/../b"] }),
      calls("read_multiple_files", { paths: [] }),
      calls("read_multiple_files", { path: "/home/you/projects/a" }),
      `{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"r\\u0065ad_text_file","arguments":{"path":"\\u002fetc/passwd"}}}\n`,
    );
  });

  test("keeps files closed that hold secrets, in capitals and in lists", async () => {
    const { calls, refused, passes } = await behind("read-only-filesystem", { tools });
    await refused(
      "This file may hold a secret",
      calls("read_text_file", { path: "/home/you/projects/.env" }),
      calls("read_text_file", { path: "/home/you/projects/.ENV.local" }),
      calls("read_text_file", { path: "/home/you/projects/deploy/ID_RSA" }),
      calls("read_multiple_files", { paths: ["/home/you/projects/a", "/home/you/projects/b.PEM"] }),
    );
    await refused(
      "This file may hold a secret",
      calls("read_multiple_files", { paths: [["/home/you/projects/.env"]] }),
      calls("read_text_file", { path: "/home/you/projects/%2eenv" }),
      calls("read_text_file", { path: "/home/you/projects/a\\.env" }),
      calls("list_directory", { path: "/home/you/projects/.ssh" }),
      calls("list_directory", { path: "~/.aws" }),
    );
    await passes(
      calls("read_text_file", { path: "/home/you/projects/environment.md" }),
      calls("list_directory", { path: "/home/you/projects/pemberton" }),
    );
  });

  test("cuts answers that are too long", async () => {
    const { answers } = await behind("read-only-filesystem", { tools: ["read_file"] });
    const args = { path: "/home/you/projects/a" };
    expect(await answers("read_file", text("a".repeat(50_001)), args)).toContain(
      `${"a".repeat(10)}… [1 more characters]`,
    );
    expect(await answers("read_file", text("short"), args)).toContain('"text":"short"');
  });
});

describe("no-secrets-out", () => {
  const KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
  const TOKEN = `ghp_${"a1".repeat(18)}`;

  test("takes out what should not be told, at any depth and however it is spelled", async () => {
    const { becomes, calls, passes } = await behind("no-secrets-out");
    expect(await becomes(calls("post", { a: [{ b: [`x ${TOKEN} y`] }] }))).toContain('[{"b":["x [redacted] y"]}]');
    expect(
      await becomes(
        `{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"post","arguments":{"t":"\\u0067hp_${"a1".repeat(18)}","n":1.0}}}\n`,
      ),
    ).toBe(
      '{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"post","arguments":{"t":"[redacted]","n":1.0}}}\n',
    );
    await passes(calls("post", { text: "ghp_short", mail: "a@example.com" }));
  });

  test("takes it out of answers, of errors, of tasks and of what a server says by itself", async () => {
    const { answers, client, server, heard } = await behind("no-secrets-out");
    expect(await answers("read", text("mail a@example.com", "card 4111 1111 1111 1111"))).toContain(
      '[{"type":"text","text":"mail [email]"},{"type":"text","text":"card [credit_card]"}]',
    );
    expect(await answers("read", { structuredContent: { key: KEY } })).toContain('{"key":"[private_key]"}');
    await client(call("e", "read"));
    await server(line({ id: "e", error: { code: -32000, message: `no access with ${TOKEN}` } }));
    expect(heard("client")).toContain('"no access with [github]"');
    await client(line({ id: "t", method: "tasks/result", params: { taskId: "1" } }));
    await server(result("t", text(TOKEN)));
    expect(heard("client")).toContain('"text":"[github]"');
    await server(line({ method: "notifications/message", params: { level: "info", data: { token: TOKEN } } }));
    expect(heard("client")).toContain('"data":{"token":"[github]"}');
  });

  test("a private key ends the matter", async () => {
    const { answers, calls, refused } = await behind("no-secrets-out");
    expect(messageOf(await answers("read", text("fine", KEY)))).toBe("A private key was in the answer");
    await refused("A private key was in the arguments", calls("post", { n: 1, text: KEY }));
  });

  test("leaves alone what holds nothing, byte for byte", async () => {
    const { client, server, heard } = await behind("no-secrets-out");
    await client(call(1, "read"));
    const odd = '{"id":1 ,"result":{"content":[{"text":"\\u0061 b","type":"text"}],"n":1e400},"jsonrpc":"2.0"}\n';
    await server(odd);
    expect(heard("client")).toBe(odd);
  });
});

describe("github-without-deletes", () => {
  const tools = [...Object.keys(recorded("server-github")), "delete_file"];

  test("pushes to branches of its own, in our repositories", async () => {
    const { calls, passes, refused } = await behind("github-without-deletes", { tools });
    await passes(
      calls("push_files", { owner: "your-org", repo: "r", branch: "agent/fix-1", files: [] }),
      calls("get_issue", { owner: "your-name", issue_number: 12345678901234567890n.toString() }),
    );
    const branches = [
      "main",
      "agent/../main",
      "refs/heads/main",
      "agent/x\nmain",
      "Agent/x",
      ["agent/x"],
      7,
      undefined,
    ];
    await refused(
      "Use a branch that begins with agent/",
      ...branches.map((branch) => calls("push_files", { owner: "your-org", branch })),
    );
    await refused(
      "Not one of our repositories",
      calls("get_issue", { owner: "torvalds" }),
      calls("get_issue", { owner: ["your-org"] }),
      calls("get_issue", { owner: null }),
    );
    await refused("Tool not found: delete_file", calls("delete_file", { owner: "your-org" }));
    await refused("Tool not found: Delete_File", calls("Delete_File", { owner: "your-org" }));
    await refused("Tool not found: merge_pull_request", calls("merge_pull_request"));
  });

  test("approves nothing", async () => {
    const { calls, passes, refused } = await behind("github-without-deletes", { tools });
    const review = (event: unknown) => calls("create_pull_request_review", { owner: "your-org", event });
    await passes(review("COMMENT"), review("REQUEST_CHANGES"));
    await refused(
      "Reviews are comments here",
      review("APPROVE"),
      review("approve"),
      review(undefined),
      review(["COMMENT"]),
    );
  });

  test("makes repositories private, whatever was asked for", async () => {
    const { calls, becomes } = await behind("github-without-deletes", { tools });
    expect(await becomes(calls("create_repository", { name: "n", private: "false" }))).toContain(
      '"arguments":{"name":"n","private":true}',
    );
    expect(await becomes(calls("create_repository", { name: "n" }))).toContain('{"name":"n","private":true}');
    expect(
      await becomes(
        '{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"create_repository","arguments":{"privat\\u0065":false}}}\n',
      ),
    ).toContain('{"privat\\u0065":true}');
  });

  test("writes twenty times a minute", async () => {
    const { calls, passes, refused, wait } = await behind("github-without-deletes", { tools });
    for (let nth = 0; nth < 20; nth++) await passes(calls("create_issue", { owner: "your-org" }));
    await refused("Rate limit exceeded", calls("create_issue", { owner: "your-org" }));
    await passes(calls("get_issue", { owner: "your-org" }));
    wait(60_000);
    await passes(calls("create_issue", { owner: "your-org" }));
  });

  test("shows no text that cannot be seen", async () => {
    const { answers } = await behind("github-without-deletes", { tools: ["get_issue"] });
    expect(await answers("get_issue", text("a\u200bb\u{e0041}c"))).toContain('"text":"abc"');
  });
});

describe("rate-limited-browser", () => {
  const tools = Object.keys(recorded("playwright-mcp"));

  test("goes to known sites, and to none that only looks like one", async () => {
    const { calls, passes, refused, wait } = await behind("rate-limited-browser", { tools });
    await passes(calls("browser_navigate", { url: "https://example.com/a?b=c#d" }));
    wait(1000);
    await passes(calls("browser_navigate", { url: "HTTPS://Docs.Example.org:443/api/x" }));
    const urls = [
      "http://example.com/",
      "https://example.com.evil.test/",
      "https://example.com@evil.test/",
      "https://user:pass@example.com/",
      "https://evil.test/https://example.com/",
      "https:\\\\evil.test/",
      "https://docs.example.org/api/../admin",
      "https://docs.example.org/api/%2e%2e/admin",
      "//example.com/",
      "example.com",
      "javascript:alert(1)",
      "file:///etc/passwd",
      "http://169.254.169.254/latest/meta-data/",
      "https://example.com:8443/",
      " https://example.com/",
      ["https://example.com/", "https://evil.test/"],
      null,
      7,
    ];
    await refused(
      "Not one of the sites for this agent",
      ...urls.map((url) => calls("browser_navigate", { url })),
      '{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"browser_navigate","arguments":{"\\u0075rl":"https://evil.test/"}}}\n',
    );
    await refused("Tool not found: browser_evaluate", calls("browser_evaluate", { function: "() => 1" }));
    await refused("Tool not found: browser_run_code_unsafe", calls("browser_run_code_unsafe"));
    await refused("Not one of the sites for this agent", calls("browser_tabs", { action: "new", url: "file:///etc" }));
  });

  test("takes no file from this machine into a page, and writes none", async () => {
    const { calls, passes, refused } = await behind("rate-limited-browser", { tools });
    await refused("Tool not found: browser_drop", calls("browser_drop", { target: "a", paths: ["/etc/passwd"] }));
    await refused("Tool not found: browser_file_upload", calls("browser_file_upload", { paths: ["/etc/passwd"] }));
    const withFile = Object.entries(recorded("playwright-mcp")).filter(([, args]) =>
      /filename|paths/.test(String(args)),
    );
    expect(withFile.length).toBeGreaterThan(5);
    for (const [tool, args] of withFile) {
      const argument = args.includes("paths") ? { paths: ["/etc/passwd"] } : { filename: "../../.bashrc" };
      const hidden = /evaluate|upload|drop|run_code|network_request$/.test(tool);
      await refused(hidden ? `Tool not found: ${tool}` : "No files from here, and none to here", calls(tool, argument));
    }
    await passes(calls("browser_take_screenshot", { type: "png" }));
  });

  test("goes to one a second, twenty a minute, and ends after two hundred calls", async () => {
    const { calls, passes, refused, wait } = await behind("rate-limited-browser", { tools });
    const go = () => calls("browser_navigate", { url: "https://example.com/" });
    await passes(go());
    await refused("Rate limit exceeded", go());
    for (let nth = 1; nth < 20; nth++) {
      wait(1000);
      await passes(go());
    }
    wait(1000);
    await refused("Rate limit exceeded", go());
    for (let nth = 20; nth < 200; nth++) {
      wait(1000);
      await passes(calls("browser_click", { ref: "a" }));
    }
    await refused("This session has made 200 calls: begin another one", calls("browser_click", { ref: "a" }));
  });
});

describe("approve-writes", () => {
  test("asks before it writes, and does what it is told", async () => {
    const asked: string[] = [];
    const { calls, passes, refused, client, heard } = await behind("approve-writes", {
      hook: (_, body) => {
        const { tool, message } = JSON.parse(body) as { tool: string; message: object };
        asked.push(tool);
        const verdicts: Record<string, object> = {
          write_file: { action: "allow" },
          send_mail: { action: "block", reason: "not to them" },
          pay: { action: "modify", message: JSON.parse(JSON.stringify(message).replace("1000", "10")) as object },
        };
        const verdict = verdicts[tool];
        return verdict === undefined ? { failure: "nobody there" } : { body: Buffer.from(JSON.stringify(verdict)) };
      },
    });
    await passes(calls("read_file", { path: "/a" }), calls("list_things"));
    expect(asked).toEqual([]);
    await passes(calls("write_file", { path: "/a" }));
    await refused("not to them", calls("send_mail"));
    await client(
      '{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"pay","arguments":{"sum": 1000}}}\n',
    );
    expect(heard("server")).toBe(
      '{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"pay","arguments":{"sum": 10}}}\n',
    );
    expect(asked).toEqual(["write_file", "send_mail", "pay"]);
    // No answer is no, and so is a name that only begins like one that reads.
    await refused("Blocked by policy", calls("get_"), calls("READ_file"), calls("read_file\nrm"), calls("forget"));
    await refused("Nobody may approve this", calls("drop_table"), calls("PURGE_cache"));
  });
});

/** A result that asks for more. */
function asks(...methods: string[]): object {
  return {
    resultType: "input_required",
    inputRequests: Object.fromEntries(methods.map((method, nth) => [`k${nth}`, { method, params: {} }])),
    requestState: "s",
  };
}

describe("no-sampling", () => {
  const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };

  test("refuses a server's own requests, up to 2025-11-25", async () => {
    const { server, heard } = await behind("no-sampling");
    await server(line({ id: 1, method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } }));
    expect(messageOf(heard("server"))).toBe("This client's model is not for servers");
    await server('{"jsonrpc":"2.0","id":2,"method":"elicitation\\/cr\\u0065ate","params":{"message":"?"}}\n');
    expect(messageOf(heard("server"))).toBe("This client's user is not to be asked");
    // What a careless client would take for the same method is no message at all.
    await server(line({ id: 3, method: "Sampling/createMessage", params: {} }));
    expect(heard("client")).toBe("");
    const roots = line({ id: 4, method: "roots/list" });
    await server(roots);
    expect(heard("client")).toBe(roots);
  });

  test("and what it asks inside a result, since 2026-07-28", async () => {
    const { answers } = await behind("no-sampling");
    expect(messageOf(await answers("t", asks("roots/list", "sampling/createMessage")))).toBe(
      "This client's model is not for servers",
    );
    expect(messageOf(await answers("t", asks("elicitation/create")))).toBe("This client's user is not to be asked");
    // A result that says it is complete and asks all the same.
    expect(await answers("t", { ...asks("sampling/createMessage"), resultType: "complete" })).toContain("error");
    expect(await answers("t", { ...text("x"), InputRequests: { k: { method: "sampling/createMessage" } } })).toContain(
      "error",
    );
    expect(await answers("t", asks("roots/list"))).toContain('"method":"roots/list"');
  });

  test("does not offer what it refuses", async () => {
    const { ask, becomes, passes } = await behind("no-sampling");
    const capabilities = { sampling: { tools: {} }, roots: { listChanged: true }, elicitation: {} };
    expect(await becomes(ask("initialize", { protocolVersion: "2025-11-25", capabilities }))).toContain(
      '"capabilities":{"roots":{"listChanged":true}}',
    );
    const meta = { ...META, "io.modelcontextprotocol/clientCapabilities": { sampling: {}, roots: {} } };
    expect(await becomes(ask("tools/call", { name: "x", _meta: meta }))).toContain(
      '"io.modelcontextprotocol/clientCapabilities":{"roots":{}}',
    );
    await passes(ask("tools/call", { name: "x", _meta: META }));
  });
});

describe("observe-first", () => {
  test("lets everything pass and says what it would do", async () => {
    const { calls, passes, effects, events, answers, client, server, heard } = await behind("observe-first");
    await passes(calls("read"), calls("Delete_File"), calls("x", { a: 1 }));
    expect(events.map(({ note }) => note)).toEqual([null, "would:block:no-deletes", null]);
    for (let nth = 0; nth < 31; nth++) await passes(calls("busy"));
    expect(events.at(-1)?.note).toBe("would:rate_limit:not-too-fast");
    effects.said.length = 0;
    expect(await answers("x", { isError: true })).toContain('"isError":true');
    await client(line({ id: "e", method: "resources/read", params: { uri: "a:b" } }));
    await server(line({ id: "e", error: { code: 1, message: "no" } }));
    expect(heard("client")).toContain('"message":"no"');
    expect(effects.said).toEqual([
      "info rule:every-call  calls x",
      "warn rule:failed tools/call x failed",
      "warn rule:failed resources/read  failed",
    ]);
    expect(effects.metrics.filter(([name]) => name === "failures_total")).toHaveLength(2);
  });
});

describe("prompts-and-resources", () => {
  const NO_TEXT = "Invalid params: the name, URI or task id must be a string, and a name must not be too long";

  test("reads and watches resources where they may be", async () => {
    const { ask, passes, refused } = await behind("prompts-and-resources");
    await passes(
      ask("resources/read", { uri: "file:///workspace/a/./b.md" }),
      ask("resources/read", { uri: "https://docs.example.com/x" }),
      ask("resources/subscribe", { uri: "file:///workspace/a" }),
    );
    const uris = [
      "file:///etc/passwd",
      "file:///workspace/../etc/passwd",
      "file:///workspace/%2E%2E/etc/passwd",
      "FILE:///WORKSPACE2/a",
      "file:///workspace/server.KEY",
      "file:///workspace/.env.local",
      "file:///workspace/.git/config",
      "https://docs.example.com.evil.test/x",
    ];
    for (const uri of uris) await refused(`Resource '${uri}' not allowed`, ask("resources/read", { uri }));
    await refused("Resource without a uri not allowed", ask("resources/read", {}));
    await refused(NO_TEXT, ask("resources/read", { uri: ["file:///workspace/a"] }));
    await refused(
      "Not one of the resources for this client",
      ask("resources/subscribe", { uri: "file:///workspace/../etc" }),
      ask("resources/directory/read", {}),
    );
  });

  test("lists and gets some prompts, and completes nothing", async () => {
    const { ask, passes, refused, becomes, client, server, heard } = await behind("prompts-and-resources");
    await client(line({ id: "p", method: "prompts/list" }), line({ id: "r", method: "resources/list" }));
    await server(
      result("p", { prompts: [{ name: "summarize_page" }, { name: "Summarize_all" }, { title: "nameless" }] }),
      result("r", {
        resources: [
          { uri: "file:///workspace/a", name: "a" },
          { uri: "file:///etc/x", name: "x" },
        ],
      }),
    );
    expect(heard("client")).toBe(
      result("p", { prompts: [{ name: "summarize_page" }] }) +
        result("r", { resources: [{ uri: "file:///workspace/a", name: "a" }] }),
    );
    heard("server");
    await passes(ask("prompts/get", { name: "review_code" }));
    await refused(
      "Unknown prompt",
      ask("prompts/get", { name: "jailbreak" }),
      ask("prompts/get", { name: "Review_code" }),
      ask("prompts/get", {}),
    );
    await refused(NO_TEXT, ask("prompts/get", { name: ["review_code"] }));
    expect(await becomes(ask("completion/complete", { ref: {} }))).toBe("");
  });

  test("answers a completion with nothing", async () => {
    const { client, heard } = await behind("prompts-and-resources");
    await client(line({ id: 1, method: "completion/complete", params: { ref: {} } }));
    expect(heard("client")).toBe(result(1, { completion: { values: [], hasMore: false } }));
  });
});

describe("cache-reads", () => {
  test("asks for a page once, whatever the order of its arguments", async () => {
    const { client, server, heard, wait } = await behind("cache-reads", { tools: ["fetch"] });
    await client(call(1, "fetch", { url: "https://a/", raw: true }));
    await server(result(1, text("page")));
    heard("server");
    heard("client");
    await client(call("two", "fetch", { raw: true, url: "https://a/" }));
    expect(heard("client")).toBe(result("two", text("page")));
    expect(heard("server")).toBe("");
    // None of these is the same request, although a careless reader may think so.
    const others = [
      call(3, "fetch", { url: "https://a/", raw: "true" }),
      call(4, "fetch", { url: "https://A/", raw: true }),
      call(5, "fetch", { url: "https://a/", raw: [true] }),
    ];
    for (const other of others) {
      await client(other);
      expect(heard("server")).toBe(other);
    }
    wait(600_000);
    await client(call(7, "fetch", { url: "https://a/", raw: true }));
    expect(heard("server")).toContain('"id":7');
  });

  test("keeps no errors, and charges for what is not in memory only", async () => {
    const { calls, passes, refused, client, server, heard } = await behind("cache-reads", { tools: ["fetch"] });
    await client(call("a", "fetch", { url: "https://a/" }));
    await server(result("a", { ...text("no"), isError: true }));
    await client(call("b", "fetch", { url: "https://a/" }));
    await server(result("b", text("yes")));
    heard("server");
    heard("client");
    for (let nth = 0; nth < 20; nth++) await client(call(`c${nth}`, "fetch", { url: "https://a/" }));
    expect(heard("server")).toBe("");
    expect(heard("client").match(/"text":"yes"/g)).toHaveLength(20);
    for (let nth = 0; nth < 8; nth++) await passes(calls("fetch", { url: `https://a/${nth}` }));
    await refused("Rate limit exceeded", calls("fetch", { url: "https://a/9" }));
  });

  test("shares lists, and nothing else, with other sessions", async () => {
    const first = await behind("cache-reads", { tools: ["fetch"] });
    await first.client(line({ id: 1, method: "prompts/list" }), call(2, "fetch", { url: "https://a/" }));
    await first.server(result(1, { prompts: [] }), result(2, text("mine")));
    const second = await behind("cache-reads", { tools: ["fetch"], state: first.state });
    await second.client(line({ id: 1, method: "prompts/list" }), call(2, "fetch", { url: "https://a/" }));
    expect(second.heard("client")).toBe(result(1, { prompts: [] }));
    expect(second.heard("server")).toBe(call(2, "fetch", { url: "https://a/" }));
  });
});

describe("shell-guard", () => {
  test("runs what is on the list, written plainly", async () => {
    const { calls, passes, refused } = await behind("shell-guard");
    const run = (command: unknown, more: object = {}) => calls("run_command", { command, timeout: 1000, ...more });
    await passes(run("ls -la src"), run("git log --oneline -n 5"), run("npm run build:all"), calls("weather", {}));
    const commands = [
      "rm -rf /",
      "ls; rm -rf /",
      "ls && rm -rf /",
      "ls\nrm -rf /",
      "ls $(rm -rf /)",
      "ls `rm -rf /`",
      "ls | sh",
      "ls\u00a0-la",
      "LS -la",
      "lsof",
      "git push",
      "",
      ["ls", "-la"],
      [["ls"]],
      7,
      null,
    ];
    await refused("Not one of the commands for this agent", ...commands.map((command) => run(command)));
    await refused(
      "Not one of the commands for this agent",
      calls("execute_command", { cmd: "ls", timeout: 1000 }),
      calls("EXECUTE_COMMAND", { command: "rm", timeout: 1000 }),
      '{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"run_\\u0063ommand","arguments":{"command":"r\\u006d x"}}}\n',
    );
    await refused(
      "These files are not for this agent",
      ...[
        "cat /etc/passwd",
        "ls > /etc/passwd",
        "cat '/etc/passwd'",
        "head /home/you/.ssh/id_ed25519",
        "cat .env",
        "cat a/.E*",
      ].map((command) => run(command)),
    );
    await refused("Not with this option", run("git diff --output=x"), run("git -c core.pager=sh log"));
    await refused("Only below the project", run("ls", { cwd: "/home/you/projects/.." }), run("ls", { cwd: "" }));
  });

  test("gives every command a minute at most", async () => {
    const { calls, becomes, passes } = await behind("shell-guard");
    const run = (more: object) => calls("run_command", { command: "npm test", ...more });
    await passes(run({ timeout: 60_000 }), run({ timeout: 1.5 }));
    for (const timeout of [60_001, "10", -1, 0, 1e300, [1], null])
      expect(await becomes(run({ timeout }))).toContain('"timeout":60000}');
    expect(await becomes(run({}))).toContain('"command":"npm test","timeout":60000}');
  });
});

describe("default-deny", () => {
  const tools = [...Object.keys(recorded("server-git")), "git_push"];
  const HELLO = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };

  test("lets the handshake and the list pass, and nothing that is not on it", async () => {
    const { ask, calls, passes, refused, server, heard } = await behind("default-deny", { tools });
    await passes(
      ask("initialize", HELLO),
      line({ method: "notifications/initialized" }),
      ask("ping", {}),
      calls("git_status", { repo_path: "/home/you/projects/a" }),
      calls("git_add", { repo_path: "/home/you/projects/a", files: ["a.txt"] }),
      calls("git_commit", { repo_path: "/home/you/projects/a", message: "- m" }),
      calls("git_log", { repo_path: "/home/you/projects/a", max_count: -1 }),
    );
    await refused(
      "Blocked by policy",
      ask("resources/list", {}),
      ask("prompts/get", { name: "x" }),
      ask("logging/setLevel", { level: "debug" }),
      ask("something/new", {}),
      // What is in the list cannot be told.
      calls("git_add", { repo_path: "/home/you/projects/a", files: [["--force"]] }),
    );
    await refused("Tool not found: git_reset", calls("git_reset", { repo_path: "/home/you/projects/a" }));
    await refused("Tool not found: GIT_STATUS", calls("GIT_STATUS", { repo_path: "/home/you/projects/a" }));
    await refused("Tool not found: git_push", calls("git_push", { repo_path: "/home/you/projects/a" }));
    await refused(
      "Only in repositories below the projects",
      calls("git_status", { repo_path: "/home/you/projects/../other" }),
      calls("git_status", { repo_path: ["/home/you/projects/a", "/etc"] }),
      calls("git_status", {}),
    );
    await refused(
      "Options of git are not for this agent",
      calls("git_add", { repo_path: "/home/you/projects/a", files: ["--force"] }),
      calls("git_add", { repo_path: "/home/you/projects/a", files: "--force" }),
      calls("git_diff", { repo_path: "/home/you/projects/a", target: "--output=/etc/x" }),
      calls("git_show", { repo_path: "/home/you/projects/a", revision: "-x" }),
    );
    await server(line({ id: 1, method: "sampling/createMessage", params: {} }));
    expect(heard("client")).toBe("");
  });
});

describe("read-only-database", () => {
  const tools = ["query", "read_query", "write_query", "create_table"];

  test("asks questions, one at a time", async () => {
    const { calls, passes, refused, listed } = await behind("read-only-database", { tools });
    expect(listed).toEqual(["query", "read_query"]);
    await passes(
      calls("query", { sql: "SELECT 1" }),
      calls("query", { sql: "  select a,\n b from t where c = 'x';\n" }),
      calls("read_query", { query: "with t as (select 1) select * from t" }),
    );
    await refused(
      "One SELECT at a time, please",
      ...["DROP TABLE users", "select 1; drop table users", "", "selectx", ["select 1"], 7].map((sql) =>
        calls("query", { sql }),
      ),
      calls("query", {}),
      '{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"query","arguments":{"sql":"\\u0064rop table users"}}}\n',
    );
    await refused(
      "This would write",
      ...[
        "with x as (DeLeTe from users returning *) select * from x",
        "select 1 /* */",
        "select 1 -- x",
        "select * into copy_of from users",
        "select pg_read_file('/etc/passwd')",
        "select $a$x$a$",
      ].map((sql) => calls("query", { sql })),
    );
    await refused("Tool not found: Write_Query", calls("Write_Query", { query: "select 1" }));
  });

  test("tells nothing about people", async () => {
    const { answers } = await behind("read-only-database", { tools });
    expect(await answers("query", text('[{"mail":"a@example.com","n":1}]'), { sql: "select 1" })).toContain(
      JSON.stringify('[{"mail":"[redacted]","n":1}]'),
    );
  });
});

describe("append-only-memory", () => {
  const tools = Object.keys(recorded("server-memory"));

  test("remembers, but no secrets and not too much", async () => {
    const { calls, passes, refused, becomes } = await behind("append-only-memory", { tools });
    await passes(
      calls("create_entities", { entities: [{ name: "a", entityType: "t", observations: ["o"] }] }),
      calls("read_graph"),
    );
    expect(
      await becomes(calls("create_entities", { entities: [{ name: "key AKIAIOSFODNN7EXAMPLE of mine" }] })),
    ).toContain('"name":"key [redacted] of mine"');
    expect(await becomes(calls("add_observations", { observations: ["x".repeat(2001)] }))).toContain("[1 more");
    await refused("Fifty at a time", calls("create_entities", { entities: Array.from({ length: 51 }, () => 1) }));
    // Neither is a number a list, nor can its size be told.
    await refused("Blocked by policy", calls("create_entities", { entities: 7 }));
    await refused("Tool not found: delete_entities", calls("delete_entities", { entityNames: ["a"] }));
    await refused("Tool not found: DELETE_entities", calls("DELETE_entities", { entityNames: ["a"] }));
  });

  test("a hundred times an hour", async () => {
    const { calls, passes, refused } = await behind("append-only-memory", { tools });
    for (let nth = 0; nth < 100; nth++) await passes(calls("add_observations", { observations: [] }));
    await refused("Rate limit exceeded", calls("create_entities", { entities: [] }));
  });
});
