import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { createProxy, inspectTools, type ProxyOptions } from "../../src/index.ts";
import { fixture } from "../support/processes.ts";

afterEach(() => vi.restoreAllMocks());

const GOOD = fixture("good.mjs");

/** What is said to a program that gives these options, which its types would have told it not to. */
async function refusal(options: unknown): Promise<string> {
  try {
    await createProxy(options as ProxyOptions);
  } catch (error) {
    const { code, message, remedy } = error as Record<string, string>;
    expect(code).toBe("BAD_USAGE");
    return `${message} | ${remedy}`;
  }
  throw new Error("it was not refused");
}

test("a command is a list of words", async () => {
  const write =
    'Write the program and its arguments, such as command: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]';
  expect(await refusal({ command: [] })).toBe(`command is empty | ${write}`);
  expect(await refusal({ command: "npx server" })).toBe(`command must be a list of words, not "npx server" | ${write}`);
  expect(await refusal({})).toBe(`command must be a list of words, not undefined | ${write}`);
  expect(await refusal({ command: [""] })).toBe(`command[0] must be a word, not "" | ${write}`);
  expect(await refusal({ command: ["npx", 3] })).toBe(`command[1] must be a word, not 3 | ${write}`);
  expect(await refusal(undefined)).toContain("The options are missing | Give at least command:");
});

test("a filter that would hide nothing because of its shape is refused", async () => {
  expect(await refusal({ command: GOOD, deny: "^delete_" })).toBe(
    'deny must be a list of patterns, not "^delete_" | ' +
      'Write deny: ["^delete_"], or deny: parsePatternList("^delete_,^drop_", "deny")',
  );
  const write = 'Write it as text, such as allow: ["^delete_"]';
  expect(await refusal({ command: GOOD, allow: [/^a/] })).toBe(`allow[0] must be a pattern, not /^a/ | ${write}`);
  expect(await refusal({ command: GOOD, allow: ["a", ""] })).toBe(`allow[1] must be a pattern, not "" | ${write}`);
  const global = { source: "a", expression: /a/g };
  expect(await refusal({ command: GOOD, allow: [global] })).toBe(
    `allow[0] must be a pattern, not an object | ${write}`,
  );
  expect(await refusal({ command: GOOD, denny: ["a"] })).toMatch(
    /^Unknown option: denny \| The options are: command, /,
  );
});

test.for([
  [{ env: { TOKEN: 1 } }, 'env must be an object of texts, such as env: { NAME: "value" } | It is an object'],
  [{ cwd: "" }, 'cwd must be the path of a directory | It is ""'],
  [{ log: {} }, "log must be a log, such as from createLog, or null | It is an object"],
  [{ audit: "file" }, 'audit must be a function, or null | It is "file"'],
  [
    { timeouts: { toolList: 0.5 } },
    "timeouts must be whole milliseconds: connection, toolList, childGrace, sessionIdle, slowReader, drain | It is an object",
  ],
  [
    { limits: { maxBytes: 1 } },
    "limits must be positive numbers: maxMessageBytes, maxBufferBytes, maxDepth, maxOpenCalls, maxParkedBytes",
  ],
  [{ client: null }, "client must be an object with the streams input and output | It is null"],
] as const)("%j is refused", async ([options, text]) => {
  expect(await refusal({ command: GOOD, ...options })).toContain(text);
});

/** Plays a server's banner through a proxy, and returns what is written on stderr. */
async function stderrOf(options: Partial<ProxyOptions>): Promise<string> {
  let written = "";
  const log = vi.spyOn(process.stderr, "write").mockImplementation((text, ...rest: unknown[]) => {
    written += String(text);
    for (const done of rest) if (typeof done === "function") done();
    return true;
  });
  const input = new PassThrough();
  const command = [process.execPath, "-e", 'console.log("hello there"); process.stdin.resume()'];
  const proxy = await createProxy({ command, client: { input, output: new PassThrough() }, ...options });
  setTimeout(() => input.end(), 500);
  await proxy.ended;
  log.mockRestore();
  return written;
}

test("without a log, warnings go to stderr; null turns them off", async () => {
  expect(await stderrOf({})).toMatch(/^\S+Z warn {2}dropped a line .* begins="hello there"\n$/);
  expect(await stderrOf({ log: null })).toBe("");
});

test("patterns may be given as text, one each", async () => {
  const { tools, unmatched } = await inspectTools({ command: GOOD, deny: ["nosuch{1,3}"], log: null });
  expect(tools.length).toBeGreaterThan(0);
  expect(unmatched).toEqual(["nosuch{1,3}"]);
  await expect(inspectTools({ command: GOOD, deny: ["(a+)+"] })).rejects.toMatchObject({ code: "UNSAFE_PATTERN" });
});

const names = (given: unknown): Promise<string> => refusal({ command: GOOD, names: given });

test("what is decided by name is checked like the rest: what is misspelt would hide nothing", async () => {
  expect(await names({ prompt: {} })).toBe("Unknown option: names.prompt | The options are: tools, prompts, resources");
  expect(await names({ prompts: { block: [] } })).toContain("Unknown option: names.prompts.block");
  expect(await names({ resources: { deny: "^a" } })).toContain(
    'names.resources.deny must be a list of patterns, not "^a"',
  );
  expect(await names({ tools: { notFound: "never" } })).toContain("names.tools.notFound has an unknown value");
  expect(await names({ tools: { refresh: true } })).toContain("names.tools.refresh has an unknown value");
  expect(await names({ tools: { pin: { path: "a" } } })).toContain("Unknown option: names.tools.pin.path");
  expect(await names({ tools: { pin: { file: "a", onChange: "no" } } })).toContain(
    "names.tools.pin does not name a lock file",
  );
  expect(await names({ tools: { pin: "" } })).toContain("names.tools.pin does not name a lock file");
});
