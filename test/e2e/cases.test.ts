import { describe, expect, test } from "vitest";
import { type Case, calledTool, loadCases, pendingOf } from "../support/cases.ts";
import { fuzzCommand } from "../fuzz/command.ts";
import { testSeed } from "../fuzz/random.ts";
import { startTrio, type TrioEnd } from "../fuzz/trio.ts";

const CASES = loadCases();
const POLICY = "needs rules of a policy file";

/** Every case that is not played here, and why. */
const SKIPPED: Record<string, string> = {
  ...because(
    "needs a client on HTTP",
    [
      ["utf32le-nobom", "charset-utf16-header", "hdr-ok", "hdr-name-mismatch", "hdr-method-mismatch"],
      ["hdr-name-base64-ok", "hdr-name-base64-mismatch", "hdr-name-base64-bad", "hdr-name-duplicate"],
      ["hdr-underscore-twin", "hdr-version-mismatch", "origin-evil", "origin-null", "origin-suffix", "host-dup"],
      ["text-plain", "form-urlencoded", "gzip-bomb", "body-lf-smuggle-to-stdio", "body-crlf-to-sse", "batch-post"],
      ["session-foreign", "session-missing-with-one-active", "session-id-long", "forged-forwarded-for"],
      ["accept-missing"],
    ].flat(),
  ),
  ...because(
    "needs a server on HTTP",
    [
      ["sse-upstream-event-injection", "sse-cr-only-lines", "sse-multi-data-lines", "sse-no-terminator"],
      ["sse-comment-keepalive", "upstream-html-200"],
    ].flat(),
  ),
  ...because(
    POLICY,
    [
      ["uri-ok", "uri-dotdot-encoded", "uri-double-encoded", "uri-backslash-encoded", "uri-prefix-sibling"],
      ["uri-localhost-host", "uri-other-host", "uri-uppercase-scheme", "uri-four-slash", "uri-nul"],
      ["uri-tab-newline", "uri-unicode-dots", "uri-semicolon", "uri-drive", "uri-http-metadata"],
      ["uri-http-ipv6-mapped", "arg-path-traversal", "elicitation-url", "elicitation-javascript-url"],
      ["sampling-blocked", "sampling-context-all", "task-result-bypass", "redact-escaped-secret"],
      ["set-param-proto", "set-param-constructor", "webhook-template-url", "script-injection"],
      ["script-option-injection", "script-env-newline", "cache-key-collision", "cache-arg-order"],
      ["rate-limit-name-variants", "list-rug-pull"],
    ].flat(),
  ),
};

/** Where we answer otherwise than a case proposes. */
const REPLIES: Record<string, { code: number; id: number | string | null }> = {
  "id-in-flight-duplicate": { code: -32600, id: null },
  "id-in-flight-type-twin": { code: -32600, id: null },
  "name-newline-log-injection": { code: -32601, id: 1 },
  "name-ansi": { code: -32601, id: 1 },
};

/** Dropped answers whose request is told at once, although the case does not ask for it. */
const ENDS_REQUEST = /^list-id-variant-/;

/** A hidden name in other text than a list: that is not looked for, and passes. */
const PASSES_ANYWAY = new Set(["error-leaks-hidden-name", "completion-leaks-hidden-name"]);

/** Answered as the number it spells, and filtered: the alternative the case allows. */
const BY_ALTERNATIVE = new Set(["list-string-id"]);

const TIMED = "timing-hidden-vs-unknown";

const TOOLS = [
  ...new Set([
    "safe_tool",
    "denied_tool",
    "bk_denied",
    ...CASES.filter(({ verdict, transport }) => verdict === "forward" && transport === "stdio").flatMap(
      (one) => calledTool(one) ?? [],
    ),
    ...CASES.flatMap((one) => pendingOf(one).flatMap(({ name }) => name ?? [])),
  ]),
];

const LIST = '{"jsonrpc":"2.0","id":"list","method":"tools/list"}\n';
const PING = '{"jsonrpc":"2.0","id":"after","method":"ping"}\n';
const PONG = '{"jsonrpc":"2.0","id":"after","result":{}}';
const CUE = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n';

test("every case is played or skipped by name, and every skipped name exists", () => {
  const names = new Set(CASES.map(({ name }) => name));
  expect(Object.keys(SKIPPED).filter((name) => !names.has(name))).toEqual([]);
  expect([...NOTED_ANYWAY, ...PASSES_ANYWAY, ...BY_ALTERNATIVE].filter((name) => !names.has(name))).toEqual([]);
  const left = CASES.filter(({ name, transport, setup }) => {
    const needs = Object.keys(setup ?? {}).filter((key) => !PLAYABLE.has(key));
    return !(name in SKIPPED) && name !== TIMED && (transport !== "stdio" || needs.length > 0);
  });
  expect(left.map(({ name }) => name)).toEqual([]);
  expect(CASES.length).toBe(191);
});

const PLAYABLE = new Set(["pending_c2s", "pending", "completed", "deny"]);

const played = CASES.filter(({ name }) => !(name in SKIPPED) && name !== TIMED);
const fromClient = played.filter(({ direction }) => direction === "c2s");
const fromServer = played.filter(({ direction }) => direction === "s2c");

describe.concurrent("what a client may try", () => {
  test.each(fromClient.map((one) => [one.verdict, one.name, one] as const))("%s: %s", async (verdict, name, one) => {
    const { before, heard, end } = await playFromClient(one);
    const passes = verdict === "forward" || verdict === "forward_flagged";
    expect(text(end.server)).toBe(before + (passes ? delivered(one) : "") + PING);
    expect(heard.at(-1)).toBe(PONG);
    const answers = heard.slice(0, -1);
    switch (verdict) {
      case "forward":
      case "forward_flagged": {
        const ids = [...delivered(one).matchAll(/"id":("[^"]*"|\d+),"method"/g)].map(([, id]) => id);
        expect(answers).toEqual(ids.map((id) => `{"jsonrpc":"2.0","id":${id},"result":{}}`));
        break;
      }
      case "deny":
        expect(answers.map(readError)).toEqual([{ code: -32601, id: 1 }]);
        expect(messageOf(answers[0])).toBe(`Tool not found: ${shown(calledTool(one) ?? "")}`);
        break;
      case "reject":
        expect(answers.map(readError)).toEqual([REPLIES[name] ?? { code: one.reply?.code, id: one.reply?.id }]);
        break;
      case "drop":
        expect(answers).toEqual([]);
        break;
      case "modify":
        throw new Error("no case from a client is modified without a policy file");
    }
    for (const word of one.mustNotLeak) expect(withoutName(answers.join("\n"), one)).not.toContain(word);
    // Log lines have one line each, whatever a name holds.
    for (const line of end.stderr.split("\n")) expect(line).toMatch(/^$|^\d{4}-\d\d-\d\dT[^ ]+ (warn|info) /);
    expect(end.code).toBe(0);
    checkNotes(one, end);
  });
});

describe.concurrent("what a server may try", () => {
  test.each(fromServer.map((one) => [one.verdict, one.name, one] as const))("%s: %s", async (verdict, name, one) => {
    const { before, heard, end } = await playFromServer(one);
    const line = one.bytes.toString("latin1");
    expect(heard.at(-1)).toBe(PONG);
    const answers = heard.slice(0, -1);
    const told = one.expect["client_gets_error_for"] ?? (ENDS_REQUEST.test(name) ? 7 : undefined);
    if (verdict === "forward" || verdict === "forward_flagged" || PASSES_ANYWAY.has(name))
      expect(answers).toEqual([line]);
    else if (verdict === "modify" || BY_ALTERNATIVE.has(name)) {
      const kept = (one.expect["tools"] ?? []) as string[];
      expect(answers).toEqual([withTools(line, kept)]);
    } else if (verdict === "drop") {
      expect(answers.map(readError)).toEqual(told === undefined ? [] : [{ code: -32000, id: told }]);
    } else throw new Error("no case from a server is refused without a policy file");
    if (!PASSES_ANYWAY.has(name)) for (const word of one.mustNotLeak) expect(answers.join("\n")).not.toContain(word);
    // A server's request is heard by the client, who stays silent here; nothing else reaches the server.
    expect(text(end.server)).toBe(before + PING);
    expect(end.code).toBe(0);
    checkNotes(one, end);
  });
});

test("a denied tool and one that never was take the same time to refuse", async () => {
  expect(CASES.map(({ name }) => name)).toContain(TIMED);
  // The test is of chance: at this level one run in a hundred fails, two in ten thousand.
  const chances = [await compareTimes()];
  if (chances[0] < 0.01) chances.push(await compareTimes());
  expect(Math.max(...chances)).toBeGreaterThan(0.01);
});

test("no mutant of a case gets through the built command where it should not", { timeout: 120_000 }, async () => {
  const seed = testSeed();
  const { complaints, mutants } = await fuzzCommand({ seed, mutants: 2000 });
  expect(complaints, `FUZZ_SEED=${seed}`).toEqual([]);
  expect(mutants).toBe(2000);
});

interface Played {
  /** What the server heard before the case. */
  readonly before: string;
  /** What the client heard from the case on, up to the answer of the ping after it. */
  readonly heard: readonly string[];
  readonly end: TrioEnd;
}

async function playFromClient(one: Case): Promise<Played> {
  const pending = pendingOf(one);
  const deny = `^${one.setup?.deny?.[0] ?? "denied_tool"}$`;
  const trio = startTrio(["--deny", deny, ...AUDIT], { tools: TOOLS, holds: pending.map(({ id }) => id) });
  const before = pending.length === 0 ? LIST : pending.map(requestOf).join("");
  await trio.say(before);
  if (pending.length === 0) await trio.answered("list");
  const from = trio.lines.length;
  const line = Buffer.concat([one.bytes, Buffer.from("\n")]);
  let turn = 0;
  await trio.say(line, one.name === "utf8-split-across-chunks" ? () => 1 + (turn++ % 7) : undefined);
  await trio.say(PING);
  await trio.answered("after");
  // What was pending is answered just before the pong, exactly once.
  const heard = trio.lines.slice(from);
  const held = heard.filter((answer) => pending.some(({ id }) => answer.startsWith(`{"jsonrpc":"2.0","id":${id},`)));
  expect(held).toHaveLength(pending.length);
  const end = await trio.close();
  return { before, heard: heard.filter((answer) => !held.includes(answer)), end };
}

async function playFromServer(one: Case): Promise<Played> {
  const pending = pendingOf(one);
  const completed = one.setup?.completed ?? [];
  const says = completed.map((id) => ({ on: id, bytes: Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`) }));
  const on = pending.at(-1)?.id ?? completed.at(-1) ?? "notifications/initialized";
  const trio = startTrio(["--deny", "^denied_tool$", ...AUDIT], {
    tools: TOOLS,
    says: [...says, { on, bytes: one.bytes }],
  });
  let before = "";
  // Where a list is waited for, none is known yet: it would be answered from what is.
  if (!pending.some(({ method }) => method === "tools/list")) {
    before = LIST;
    await trio.say(LIST);
    await trio.answered("list");
  }
  const from = trio.lines.length;
  const cue = [...pending, ...completed.map((id) => ({ id, method: "ping" }))].map(requestOf).join("") || CUE;
  await trio.say(cue);
  await trio.say(PING);
  await trio.answered("after");
  const heard = trio.lines.slice(from + completed.length);
  const end = await trio.close();
  // Whoever still waits is told when the conversation ends.
  const late = trio.lines.slice(from + completed.length + heard.length);
  expect(late.every((line) => readError(line).code === -32000)).toBe(true);
  expect(new Set(late.map((line) => readError(line).id)).size).toBe(late.length);
  return { before: before + cue, heard, end };
}

const AUDIT: readonly string[] = ["--audit", "{audit}"];

/** What passes but is worth a second look has a note in the audit log, and only that. */
function checkNotes({ name, verdict }: Case, { audit }: TrioEnd): void {
  const notes = audit.filter(({ note }) => typeof note === "string");
  expect(notes).toHaveLength(verdict === "forward_flagged" || NOTED_ANYWAY.has(name) ? 1 : 0);
  for (const { verdict: did } of notes) expect(did).toBe("pass");
}

/** Cases that pass and have a note although nobody asked for one. */
const NOTED_ANYWAY = new Set(["response-null-id"]);

function because(reason: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

function requestOf({ id, method, name }: { id: number; method: string; name?: string }): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, ...(name === undefined ? {} : { params: { name } }) })}\n`;
}

/** What of a case's bytes the server should hear. */
function delivered(one: Case): string {
  const line = `${text(one.bytes)}\n`;
  return "delivered" in one.expect ? line.slice(line.indexOf("\n") + 1) : line;
}

function text(bytes: Buffer): string {
  return bytes.toString("latin1");
}

function readError(line: string): { code: unknown; id: unknown } {
  const { id, error } = JSON.parse(line) as { id: unknown; error?: { code: unknown } };
  return { code: error?.code, id };
}

function messageOf(line: string): string {
  return (JSON.parse(Buffer.from(line, "latin1").toString("utf8")) as { error: { message: string } }).error.message;
}

/** A name as answers show it: what does not print is written as an escape. */
function shown(name: string): string {
  return Array.from(name)
    .map((character) => (/[\p{Cc}\p{Cf}]/u.test(character) ? escape(character) : character))
    .join("");
}

function escape(character: string): string {
  const code = character.codePointAt(0)?.toString(16) ?? "";
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

/** An answer without the name that the client itself brought. */
function withoutName(answers: string, one: Case): string {
  const name = calledTool(one);
  return name === undefined ? answers : answers.replace(/Tool not found: [^}]*/, "Tool not found: ");
}

/** A list with only these of its tools, every other byte as it was. */
function withTools(line: string, kept: readonly string[]): string {
  const tools = (JSON.parse(line) as { result: { tools: { name: string }[] } }).result.tools;
  const cut = tools.filter(({ name }) => kept.includes(name)).map((tool) => JSON.stringify(tool));
  return line.replace(/"tools":\[.*\]/, `"tools":[${cut.join(",")}]`);
}

const SAMPLES = 200;

/** How likely the times of the two kinds of refusal come from one distribution (Kolmogorov–Smirnov, two samples). */
async function compareTimes(): Promise<number> {
  const trio = startTrio(["--deny", "^denied_tool$"], { tools: TOOLS });
  await trio.say(LIST);
  await trio.answered("list");
  const times: [number[], number[]] = [[], []];
  for (let round = -20; round < SAMPLES; round++) {
    for (const [kind, name] of ["denied_tool", "nonexist_t0"].entries()) {
      const id = `${kind}-${round}`;
      const call = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
      const start = performance.now();
      await trio.say(`${call}\n`);
      await trio.answered(id);
      if (round >= 0) times[kind].push(performance.now() - start);
    }
  }
  await trio.close();
  const distance = Math.max(...times.flat().map((time) => Math.abs(share(times[0], time) - share(times[1], time))));
  const root = Math.sqrt(SAMPLES / 2);
  const lambda = (root + 0.12 + 0.11 / root) * distance;
  let chance = 0;
  for (let k = 1; k <= 100; k++) chance += 2 * (-1) ** (k - 1) * Math.exp(-2 * k * k * lambda * lambda);
  return lambda < 0.2 ? 1 : chance;
}

function share(sample: readonly number[], time: number): number {
  return sample.filter((one) => one <= time).length / sample.length;
}
