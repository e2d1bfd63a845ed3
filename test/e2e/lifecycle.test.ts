import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { COMMAND, fixture, type Program, readCount, test, until } from "../support/processes.ts";

const ping = (id: number): object => ({ jsonrpc: "2.0", id, method: "ping" });
const pong = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{}}\n`;
const closed = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"Connection closed"}}\n`;
const told = (data: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${data}"}}\n`;
const LOST = "Error: Lost connection to upstream MCP\nShutting down proxy\n";
const LOST_AS_JSON = /"message":"Lost connection to upstream MCP","remedy":"Shutting down proxy"\}\n$/;
const GRACE_MS = 5000;

/** A script in which "$@" is Fairlead in front of a server. */
function inShell(script: string, server: readonly string[]): string[] {
  return ["sh", "-c", script, "sh", process.execPath, COMMAND, "--", ...server];
}

/** Reads so many bytes, as they come, and says how many it were. */
async function sipFrom(stream: Readable, atLeast: number): Promise<number> {
  for (let bytes = 0; ; await delay(20)) {
    bytes += (stream.read() as Buffer | null)?.length ?? 0;
    if (bytes >= atLeast) return bytes;
  }
}

/** Far less than a socket holds: its writer does not notice that so much was read, and must not think that nothing was. */
const SIP_BYTES = 1 << 14;

function expectGrace(milliseconds: number): void {
  expect(milliseconds).toBeGreaterThan(GRACE_MS - 700);
  expect(milliseconds).toBeLessThan(GRACE_MS + 700);
}

/** The ways in which it can be over for Fairlead. */
const ENDINGS: Record<string, { end: (fairlead: Program) => void; code: number | null }> = {
  "the client closes": { end: ({ stdin }) => stdin.end(), code: 0 },
  "SIGTERM comes": { end: ({ pid }) => process.kill(pid, "SIGTERM"), code: 1 },
  "Fairlead is killed": { end: ({ pid }) => process.kill(pid, "SIGKILL"), code: null },
};

// First, and apart from the others, because they measure time: what is not concurrent comes between.
describe.concurrent("a server has five seconds", () => {
  test("when the client closes and it does not care; it is killed then, and that is no failure", async ({ start }) => {
    const fairlead = start(fixture("deaf-to-eof.mjs"));
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    const since = performance.now();
    fairlead.stdin.end();
    expect(await fairlead.end()).toEqual({ code: 0, signal: null, stdout: pong(1), stderr: "", left: [] });
    expectGrace(fairlead.overSince - since);
  });

  test("when a signal comes and it will not end; whoever waits is answered once", async ({ start }) => {
    const fairlead = start(fixture("stubborn.mjs"));
    await fairlead.hears(told("ready"));
    fairlead.say(ping(1), ping(2));
    await delay(500);
    const since = performance.now();
    process.kill(fairlead.pid, "SIGTERM");
    const { stdout, ...end } = await fairlead.end();
    expectGrace(fairlead.overSince - since);
    expect(end).toEqual({ code: 1, signal: null, stderr: "", left: [] });
    expect(stdout).toBe(told("ready") + told("SIGTERM") + closed(1) + closed(2));
  });

  test("when nobody listens to what it says; no stack is shown", async ({ start }) => {
    const fairlead = start(fixture("chatterbox.mjs"));
    await fairlead.hears("another thing");
    const since = performance.now();
    fairlead.stdout.destroy();
    expect(await fairlead.end()).toMatchObject({ code: 1, stderr: "", left: [] });
    expectGrace(fairlead.overSince - since);
  });

  test("when the pipe is closed that it speaks into; no stack is shown", async ({ startProgram }) => {
    const script = '{ "$@"; echo "exit $?" >&2; } | head -n 2';
    const pipeline = startProgram(inShell(script, fixture("chatterbox.mjs")));
    const stdout = told("and another thing").repeat(2);
    expect(await pipeline.end()).toMatchObject({ stdout, stderr: "exit 1\n", left: [] });
  });
});

describe("finding what is left", () => {
  test("a process is found that left its group, its session, its parent and its environment", async ({
    startProgram,
  }) => {
    const program = startProgram(["sh", "-c", "(env -i setsid sleep 1000 >/dev/null 2>&1 &)"]);
    const { left } = await program.end(500);
    expect(left).toEqual([expect.stringMatching(/^\d+ sleep 1000$/)]);
  });

  test("the child and the watchdog are found while Fairlead lives", async ({ start }) => {
    const fairlead = start(fixture("good.mjs"));
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    const server = await fairlead.sees("good.mjs");
    const watchdog = await fairlead.sees("fairlead-watchdog");
    expect(fairlead.family()).toHaveLength(2);
    expect(new Set([fairlead.pid, server.group, watchdog.group]).size).toBe(3);
    expect(new Set([server.session, watchdog.session]).size).toBe(2);
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
  });
});

describe.concurrent("the client closes", () => {
  test("a good server ends, and so do we, with 0", async ({ start }) => {
    const fairlead = start(fixture("good.mjs"));
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    fairlead.stdin.end();
    expect(await fairlead.end()).toEqual({ code: 0, signal: null, stdout: pong(1), stderr: "", left: [] });
  });

  test("answers that come later still arrive", async ({ startProgram }) => {
    const lines = [1, 2, 3].map((id) => JSON.stringify(ping(id)));
    const script = `printf '%s\\n' '${lines.join("' '")}' | "$@"`;
    const pipeline = startProgram(inShell(script, fixture("slow-to-answer.mjs")));
    expect(await pipeline.end()).toMatchObject({ code: 0, stdout: pong(1) + pong(2) + pong(3), left: [] });
  });

  test("a call that waits for the tool list is delivered before the server's stdin closes", async ({ start }) => {
    const fairlead = start(fixture("slow-to-answer.mjs"), { options: ["--deny", "secret"] });
    fairlead.say(
      { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18" } },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "open" } },
      { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "secret" } },
    );
    fairlead.stdin.end();
    const { stdout, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 0, left: [] });
    const [first, ...rest] = stdout.trimEnd().split("\n");
    expect(first).toMatch(/"id":1,"result":\{"protocolVersion"/);
    expect(rest.sort()).toEqual([
      '{"jsonrpc":"2.0","id":2,"result":{}}',
      '{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Tool not found: secret"}}',
    ]);
  });

  test("an answer of eight megabytes that has only begun arrives whole", async ({ start }) => {
    const fairlead = start(fixture("whale.mjs"));
    fairlead.say(ping(1));
    fairlead.stdin.end();
    const { stdout, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 0, stderr: "", left: [] });
    expect(stdout === `{"jsonrpc":"2.0","id":1,"result":{"text":"${"w".repeat(8 << 20)}"}}\n`).toBe(true);
  });

  test("half a message is not sent on", async ({ start }) => {
    const fairlead = start(fixture("good.mjs"));
    fairlead.say(ping(1), '{"jsonrpc":"2.0","id":2,"method":"ping"}');
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 0, stdout: pong(1), left: [] });
  });

  test("the exit code is the server's own if it has one", async ({ start }) => {
    const fairlead = start(fixture("silent.mjs", "eof", "42"));
    fairlead.say(ping(1));
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 42, stdout: closed(1), stderr: "", left: [] });
  });

  test("the exit code is 1 if the server was killed by somebody else", async ({ start }) => {
    const fairlead = start(fixture("silent.mjs", "eof", "SIGKILL"));
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 1, stdout: "", left: [] });
  });

  test("a client that reads late gets everything, though the server is long gone", async ({ start }) => {
    const fairlead = start(fixture("hasty.mjs", "1", "8", "0"), { read: false });
    fairlead.say(ping(1));
    fairlead.stdin.end();
    await delay(4000);
    let bytes = 0;
    fairlead.stdout.on("data", (chunk: Buffer) => (bytes += chunk.length));
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
    await until(() => fairlead.stdout.readableEnded, "the end of its stdout");
    expect(bytes).toBe(pong(1).length + told("").length + (8 << 20));
  });

  test("a client that reads later than the grace does not change the exit code", async ({ start }) => {
    const fairlead = start(fixture("hasty.mjs", "1", "8", "3"), { read: false });
    fairlead.say(ping(1));
    fairlead.stdin.end();
    await delay(GRACE_MS + 1500);
    let bytes = 0;
    fairlead.stdout.on("data", (chunk: Buffer) => (bytes += chunk.length));
    expect(await fairlead.end()).toMatchObject({ code: 3, left: [] });
    await until(() => fairlead.stdout.readableEnded, "the end of its stdout");
    expect(bytes).toBe(pong(1).length + told("").length + (8 << 20));
  });

  test("and never reads what is left: that is given up", async ({ start }) => {
    const config = join(mkdtempSync(join(tmpdir(), "fairlead-slow-")), "policy.yaml");
    writeFileSync(config, "timeouts: { slow_reader: 2s }");
    const fairlead = start(fixture("hasty.mjs", "1", "8", "0"), { options: ["--config", config], read: false });
    fairlead.say(ping(1));
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
  });

  test("and reads the rest a little at a time: all of it arrives", async ({ start }) => {
    const fairlead = start(fixture("hasty.mjs", "1", "8", "0"), { read: false });
    fairlead.say(ping(1));
    fairlead.stdin.end();
    let bytes = 0;
    for (let sip = 0; sip < 6; sip++) {
      await delay(2500);
      bytes += await sipFrom(fairlead.stdout, SIP_BYTES);
      expect(fairlead.isOver).toBe(false);
    }
    fairlead.stdout.on("data", (chunk: Buffer) => (bytes += chunk.length));
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
    await until(() => fairlead.stdout.readableEnded, "the end of its stdout");
    expect(bytes).toBe(pong(1).length + told("").length + (8 << 20));
  });

  test("and something goes on in a new process all the time: it is caught", async ({ start }) => {
    const hops = join(mkdtempSync(join(tmpdir(), "fairlead-hops-")), "hops");
    const at = (): string => (existsSync(hops) ? readFileSync(hops, "utf8") : "");
    const fairlead = start(fixture("hopper.sh", ...fixture("good.mjs")), { env: { HOPS: hops } });
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    // It lives too short a time in each process to be seen in one.
    const before = at();
    await until(() => at() !== before, "the next hop");
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 0, stdout: pong(1), left: [] });
    const last = at();
    expect(last).not.toBe("0\n"); // it had further to go
    await delay(500);
    expect(at()).toBe(last);
  });

  test("and the watchdog is gone already: all ends as ever", async ({ start }) => {
    const fairlead = start(fixture("browser.sh", ...fixture("good.mjs")));
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    process.kill((await fairlead.sees("fairlead-watchdog")).pid, "SIGKILL");
    fairlead.stdin.end();
    expect(await fairlead.end()).toEqual({ code: 0, signal: null, stdout: pong(1), stderr: "", left: [] });
  });
});

describe.concurrent("the client is killed", () => {
  // Starts what stands after it, says something or nothing, and does not listen.
  const script = `
    const { spawn } = require("node:child_process");
    const [text, program, ...args] = process.argv.slice(1);
    const { stdin } = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    stdin.write(text.repeat(20_000));
    setInterval(() => {}, 1_000_000);
  `;

  test.for([
    { when: "and the server does not care", text: "", server: fixture("deaf-to-eof.mjs") },
    { when: "while the server floods it", text: "", server: fixture("flooder.mjs", "200") },
    // Its EOF stands behind what it wrote last, which nobody reads.
    {
      when: "while it floods a server that does not read",
      text: '{"jsonrpc":"2.0","method":"notifications/x","params":{"text":"a hundred bytes"}}\n',
      server: ["sleep", "1000"],
    },
  ])("$when", async ({ text, server }, { startProgram }) => {
    const client = startProgram([process.execPath, "-e", script, text, process.execPath, COMMAND, "--", ...server]);
    await until(() => client.family().length === 3, "Fairlead, its watchdog and the server");
    await delay(1000);
    process.kill(client.pid, "SIGKILL");
    expect(await client.end(GRACE_MS + 7000)).toMatchObject({ signal: "SIGKILL", left: [] });
  });
});

describe.concurrent("the server ends", () => {
  test.for([
    { how: "with an exit code", args: ["ping", "42"], code: 42 },
    { how: "with 0", args: ["ping", "0"], code: 1 },
    { how: "by a signal", args: ["ping", "SIGSEGV"], code: 1 },
  ])("$how: whoever waits is answered once, and it is said", async ({ args, code }, { start }) => {
    const fairlead = start(fixture("silent.mjs", ...args));
    fairlead.say(
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { jsonrpc: "2.0", id: "b", method: "prompts/list" },
      ping(3),
    );
    const { stdout, ...end } = await fairlead.end();
    expect(end).toEqual({ code, signal: null, stderr: LOST, left: [] });
    expect(stdout).toBe(closed(1) + closed(3).replace(":3,", ':"b",') + closed(3));
  });

  test("at once: whoever waits is answered, and the exit code is the server's", async ({ start }) => {
    const fairlead = start(fixture("silent.mjs", "start", "7"));
    fairlead.say(ping(1));
    expect(await fairlead.end()).toEqual({ code: 7, signal: null, stdout: closed(1), stderr: LOST, left: [] });
  });

  test.for([
    ["7", '"message":"the server ended","code":7}'],
    ["SIGSEGV", '"message":"the server ended","signal":"SIGSEGV"}'],
  ])("how is in the log: %s", async ([how, line], { start }) => {
    const fairlead = start(fixture("silent.mjs", "start", how), { options: ["--log-format", "json"] });
    const { stderr } = await fairlead.end();
    expect(stderr).toContain(line);
    expect(stderr).toMatch(LOST_AS_JSON);
  });

  test("while a call waits for the tool list: it is answered once", async ({ start }) => {
    const fairlead = start(fixture("silent.mjs", "ping", "0"), { options: ["--deny", "secret"] });
    fairlead.say({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "open" } }, ping(2));
    expect(await fairlead.end()).toMatchObject({ code: 1, stdout: closed(1) + closed(2), left: [] });
  });

  test("before it has read what it was asked: what we could not read either is answered, too", async ({ start }) => {
    const fairlead = start(fixture("late-reader.mjs"));
    await fairlead.hears(told("ready"));
    const server = await fairlead.sees("late-reader.mjs");
    const before = readCount(fairlead.pid, "io", "rchar");
    let said = 0;
    let count = 0;
    for (let unread = 0; unread < 100_000 && count < 900;) {
      const call = {
        jsonrpc: "2.0",
        id: count++,
        method: "tools/call",
        params: { name: "x", arguments: { t: "x".repeat(3000) } },
      };
      fairlead.say(call);
      said += JSON.stringify(call).length + 1;
      await delay(10);
      unread = said - (readCount(fairlead.pid, "io", "rchar") - before);
    }
    expect(count).toBeLessThan(900);
    process.kill(server.pid, "SIGKILL");
    const { stdout, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 1, left: [] });
    expect(stdout).toBe(told("ready") + Array.from({ length: count }, (_, id) => closed(id)).join(""));
  });

  test("in the middle of a message: the half of it is not sent on", async ({ start }) => {
    const fairlead = start(fixture("half-said.mjs"));
    fairlead.say(ping(1));
    const since = performance.now();
    const { stderr, ...end } = await fairlead.end();
    expect(end).toEqual({ code: 1, signal: null, stdout: told("before") + closed(1), left: [] });
    expect(stderr).toContain("without a newline");
    expect(stderr.endsWith(LOST)).toBe(true);
    expect(fairlead.overSince - since).toBeLessThan(3000);
  });

  test("with ten megabytes on its lips: all of them arrive", async ({ start }) => {
    const fairlead = start(fixture("hasty.mjs", "10", "1", "0"));
    fairlead.say(ping(1));
    const { stdout, ...end } = await fairlead.end();
    expect(end).toEqual({ code: 1, signal: null, stderr: LOST, left: [] });
    expect(stdout === pong(1) + told("h".repeat(1 << 20)).repeat(10)).toBe(true);
  });

  test("and leaves somebody behind who holds its stdout open", async ({ start }) => {
    const fairlead = start(fixture("stdout-holder.sh"));
    await fairlead.sees("sleep 1000");
    const since = performance.now();
    fairlead.say(ping(1));
    expect(await fairlead.end()).toEqual({ code: 1, signal: null, stdout: closed(1), stderr: LOST, left: [] });
    expect(fairlead.overSince - since).toBeLessThan(3000);
  });
});

// A server that cannot hear or cannot speak is as lost as one that is dead: nobody would ever be answered.
describe.concurrent("the server lives on", () => {
  test("without its stdout: whoever waits is answered, and it goes", async ({ start }) => {
    const fairlead = start(fixture("stdout-closer.sh"), { options: ["--log-format", "json"] });
    fairlead.say(ping(1));
    const { stderr, ...end } = await fairlead.end();
    expect(end).toEqual({ code: 1, signal: null, stdout: closed(1), left: [] });
    // It did not end by itself: it was asked to.
    expect(stderr).toMatch(/"message":"the server ended","signal":"SIGTERM"\}\n/);
    expect(stderr).toMatch(LOST_AS_JSON);
  });

  test("without its stdin: whoever waits is answered, and it goes", async ({ start }) => {
    const fairlead = start(fixture("stdin-closer.sh"));
    await fairlead.hears(told("ready"));
    fairlead.say(ping(1));
    const { stdout, ...end } = await fairlead.end();
    expect(end).toEqual({ code: 1, signal: null, stderr: LOST, left: [] });
    expect(stdout).toBe(told("ready") + closed(1));
  });
});

describe.concurrent("a signal comes", () => {
  test.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)("%s: the server is asked to end", async (signal, { start }) => {
    const fairlead = start(fixture("deaf-to-eof.mjs"));
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    const since = performance.now();
    process.kill(fairlead.pid, signal);
    expect(await fairlead.end()).toEqual({ code: 1, signal: null, stdout: pong(1), stderr: "", left: [] });
    expect(fairlead.overSince - since).toBeLessThan(3000);
  });

  test.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)("and %s after it: all ends at once", async (second, { start }) => {
    const fairlead = start(fixture("stubborn.mjs"));
    await fairlead.hears(told("ready"));
    fairlead.say(ping(1));
    process.kill(fairlead.pid, "SIGTERM");
    await fairlead.hears(told("SIGTERM"));
    const since = performance.now();
    process.kill(fairlead.pid, second);
    const { stdout, ...end } = await fairlead.end();
    expect(fairlead.overSince - since).toBeLessThan(2000);
    expect(end).toEqual({ code: 1, signal: null, stderr: "", left: [] });
    expect(stdout).toBe(told("ready") + told("SIGTERM") + closed(1));
  });

  test("the grace is the whole group's: a wrapper that goes first does not take the server with it", async ({
    start,
  }) => {
    const fairlead = start(fixture("background.sh", ...fixture("slow-to-leave.mjs")));
    await fairlead.hears(told("ready"));
    process.kill(fairlead.pid, "SIGTERM");
    const { stdout, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 1, left: [] });
    expect(stdout).toBe(told("ready") + told("all is put away"));
  });

  test("right at the start: nothing is left", async ({ start }) => {
    for (const ms of [0, 20, 40, 50, 60, 80]) {
      const fairlead = start(fixture("stubborn.mjs"));
      await delay(ms);
      process.kill(fairlead.pid, "SIGTERM");
      await delay(50);
      if (!fairlead.isOver) process.kill(fairlead.pid, "SIGTERM");
      expect(await fairlead.end(4000)).toMatchObject({ left: [] });
    }
  });
});

describe.concurrent("Fairlead is killed", () => {
  test("a stubborn server goes all the same", async ({ start }) => {
    const fairlead = start(fixture("stubborn.mjs"));
    await fairlead.hears(told("ready"));
    process.kill(fairlead.pid, "SIGKILL");
    expect(await fairlead.end(4000)).toMatchObject({ signal: "SIGKILL", left: [] });
  });

  test("after its watchdog was: another one is there", async ({ start }) => {
    const fairlead = start(fixture("stubborn.mjs"));
    await fairlead.hears(told("ready"));
    const { pid } = await fairlead.sees("fairlead-watchdog");
    process.kill(pid, "SIGKILL");
    await until(
      () => fairlead.family().some((each) => each.command.includes("fairlead-watchdog") && each.pid !== pid),
      "another watchdog",
    );
    await delay(100); // until it has been told whose group it is
    process.kill(fairlead.pid, "SIGKILL");
    expect(await fairlead.end(5000)).toMatchObject({ signal: "SIGKILL", left: [] });
  });

  test("with its whole group: the same", async ({ start }) => {
    const fairlead = start(fixture("stubborn.mjs"));
    await fairlead.hears(told("ready"));
    process.kill(-fairlead.pid, "SIGKILL");
    expect(await fairlead.end(4000)).toMatchObject({ signal: "SIGKILL", left: [] });
  });

  test.for([0, 1, 2, 3])("at any moment of its start (%i)", async (lane, { start }) => {
    for (let round = 0; round < 5; round++) {
      const fairlead = start(fixture("browser.sh", ...fixture("stubborn.mjs")));
      await delay((lane * 5 + round) * 15 + Math.random() * 15);
      process.kill(fairlead.pid, "SIGKILL");
      expect(await fairlead.end(5000)).toMatchObject({ signal: "SIGKILL", left: [] });
    }
  });

  test.for([1, 2, 3])("in the moment in which it has %i processes", async (count, { start }) => {
    const fairlead = start(fixture("browser.sh", ...fixture("stubborn.mjs")));
    await until(() => fairlead.family().length >= count, "its processes", 15_000, 0);
    process.kill(fairlead.pid, "SIGKILL");
    expect(await fairlead.end(5000)).toMatchObject({ signal: "SIGKILL", left: [] });
  });

  test.for([
    {
      how: "by an exception",
      code: "setTimeout(() => { throw new Error('crash') })",
      exit: { code: 1, signal: null, stdout: told("ready") + closed(1) },
    },
    { how: "by an abort", code: "process.abort()", exit: { code: null, signal: "SIGABRT", stdout: told("ready") } },
  ])("$how of its own", async ({ code, exit }, { start }) => {
    const crash = `data:text/javascript,${encodeURIComponent(`process.once("SIGUSR2", () => { ${code} })`)}`;
    const fairlead = start(fixture("browser.sh", ...fixture("stubborn.mjs")), { node: ["--import", crash] });
    await fairlead.hears(told("ready"));
    await fairlead.sees("sleep 1000");
    fairlead.say(ping(1));
    await delay(300);
    process.kill(fairlead.pid, "SIGUSR2");
    expect(await fairlead.end(4000)).toMatchObject({ ...exit, left: [] });
  });
});

describe.concurrent.each(Object.entries(ENDINGS))("%s, and the server has company", (_, { end, code }) => {
  test.for([
    ["a server in the background of a shell", fixture("background.sh", ...fixture("good.mjs")), "good.mjs"],
    ["a server behind a wrapper", fixture("wrapper.mjs", ...fixture("good.mjs")), "good.mjs"],
    ["a browser with a session of its own", fixture("browser.sh", ...fixture("good.mjs")), "sleep 1000"],
    ["a daemon without a parent", fixture("daemon.sh", ...fixture("good.mjs")), "sleep 1000"],
    [
      "all of them at once",
      fixture("browser.sh", ...fixture("daemon.sh", ...fixture("wrapper.mjs", ...fixture("good.mjs")))),
      "sleep 1000",
    ],
  ] as const)("%s", async ([, server, companion], { start }) => {
    const fairlead = start(server);
    await fairlead.sees(companion);
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    end(fairlead);
    expect(await fairlead.end(4000)).toMatchObject({ code, stdout: pong(1), stderr: "", left: [] });
  });

  test("one of whom only its parent knows", async ({ start }) => {
    const fairlead = start(fixture("hider.sh"));
    await fairlead.hears(told("ready"));
    await fairlead.sees("sleep 1000");
    end(fairlead);
    expect(await fairlead.end(5000)).toMatchObject({ code, left: [] });
  });

  test("another Fairlead", async ({ start }) => {
    const fairlead = start([process.execPath, COMMAND, "--", ...fixture("browser.sh", ...fixture("good.mjs"))]);
    await fairlead.sees("sleep 1000");
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    end(fairlead);
    expect(await fairlead.end(5000)).toMatchObject({ code, stdout: pong(1), stderr: "", left: [] });
  });
});

describe.concurrent("two Fairleads", () => {
  test("one behind the other: the server carries the marks of both", async ({ start }) => {
    const fairlead = start([process.execPath, COMMAND, "--", ...fixture("tell-tale.mjs")]);
    fairlead.say(ping(1));
    await fairlead.hears("\n");
    const watchdogs = fairlead.family().filter(({ command }) => command.includes("fairlead-watchdog"));
    fairlead.stdin.end();
    const { stdout, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 0, left: [] });
    const { MARKED_BY_FAIRLEAD: marks } = (JSON.parse(stdout) as { result: { env: Record<string, string> } }).result
      .env;
    expect(marks).toMatch(/^[0-9a-f]{24}:[0-9a-f]{24}$/);
    expect(new Set(watchdogs.map(({ command }) => command.split(" ").at(-1)))).toEqual(new Set(marks.split(":")));
  });

  test("one behind the other: when the inner one is killed, the outer one is lost", async ({ start }) => {
    const fairlead = start([process.execPath, COMMAND, "--", ...fixture("browser.sh", ...fixture("stubborn.mjs"))]);
    await fairlead.hears(told("ready"));
    await fairlead.sees("sleep 1000");
    const inner = await fairlead.sees(`${COMMAND} -- sh`);
    process.kill(inner.pid, "SIGKILL");
    expect(await fairlead.end(4000)).toMatchObject({ code: 1, stderr: LOST, left: [] });
  });

  test("side by side: the death of one is nothing to the other", async ({ start }) => {
    const server = fixture("browser.sh", ...fixture("good.mjs"));
    const [one, other] = [start(server), start(server)];
    for (const fairlead of [one, other]) {
      await fairlead.sees("sleep 1000");
      fairlead.say(ping(1));
      await fairlead.hears(pong(1));
    }
    process.kill(one.pid, "SIGKILL");
    expect(await one.end(4000)).toMatchObject({ left: [] });
    expect(other.family()).toHaveLength(3);
    other.say(ping(2));
    await other.hears(pong(2));
    other.stdin.end();
    expect(await other.end()).toMatchObject({ code: 0, stdout: pong(1) + pong(2), left: [] });
  });
});

describe.concurrent("nobody reads our stderr", () => {
  test("and the conversation goes on", async ({ start }) => {
    const fairlead = start(fixture("babbler.mjs"));
    fairlead.say(ping(1));
    await fairlead.hears(pong(1));
    fairlead.stderr.destroy();
    fairlead.say(ping(2));
    await fairlead.hears(pong(2));
    fairlead.say(ping(3));
    await fairlead.hears(pong(3));
    fairlead.stdin.end();
    expect(await fairlead.end()).toMatchObject({ code: 0, left: [] });
  });
});

describe.concurrent("what the server is started with", () => {
  test("our environment and what was asked for, less what is meant for us; its directory and arguments", async ({
    start,
  }) => {
    const options = ["--env", "ASKED=a=b", "--env", "OURS=changed", "--cwd", tmpdir()];
    const env = { OURS: "ours", KEPT: "kept", FAIRLEAD_SECRET: "s", fairlead_other: "o" };
    const fairlead = start(fixture("tell-tale.mjs", "", "a b", "$HOME", "--deny"), { options, env });
    fairlead.say(ping(1));
    fairlead.stdin.end();
    const { stdout, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 0, stderr: "", left: [] });
    const { result } = JSON.parse(stdout) as { result: { env: Record<string, string>; cwd: string; args: string[] } };
    expect(result).toMatchObject({ cwd: tmpdir(), args: ["", "a b", "$HOME", "--deny"] });
    expect(result.env).toMatchObject({ ASKED: "a=b", OURS: "changed", KEPT: "kept" });
    expect(result.env["MARKED_BY_FAIRLEAD"]).toMatch(/^[0-9a-f]{24}$/);
    expect(Object.keys(result.env).filter((name) => /^fairlead_/i.test(name))).toEqual([]);
  });

  test("our stderr: a hundred megabytes of anything", async ({ start }) => {
    const fairlead = start(fixture("noisy.sh", "100", ...fixture("good.mjs")));
    fairlead.say(ping(1), ping(2));
    await fairlead.hears(pong(2));
    fairlead.stdin.end();
    const { stderr, ...end } = await fairlead.end();
    expect(end).toEqual({ code: 0, signal: null, stdout: pong(2) + closed(1), left: [] });
    expect(stderr.length).toBe(100 << 20);
  });

  test("our stderr: its last words are heard", async ({ start }) => {
    const fairlead = start(fixture("noisy.sh", "1", "sh", "-c", "echo the end >&2; exit 3"));
    fairlead.say(ping(1));
    const { stderr, ...end } = await fairlead.end();
    expect(end).toEqual({ code: 3, signal: null, stdout: closed(1), left: [] });
    expect(stderr.slice(1 << 20)).toBe(`the end\n${LOST}`);
  });

  // Node makes a pipe non-blocking for all who share it, when it writes to it and when it closes any
  // socket. Programs that do not expect that lose what they write, or die of it.
  test("our stderr, as it was: it still blocks after we wrote to it", async ({ start }) => {
    const server = ["sh", "-c", 'echo bla bla; exec "$@"', "sh", ...fixture("noisy.sh", "4", ...fixture("good.mjs"))];
    const fairlead = start(server);
    await fairlead.complains("\n");
    fairlead.stderr.pause();
    fairlead.say(ping(1), ping(2));
    await delay(1000);
    fairlead.stderr.resume();
    await fairlead.hears(pong(2));
    fairlead.stdin.end();
    const { stderr, ...end } = await fairlead.end();
    expect(end).toMatchObject({ code: 0, left: [] });
    expect(stderr.replaceAll(/[^\0]/g, "").length).toBe(4 << 20);
  });
});

describe.concurrent("the server cannot be started", () => {
  const missing = "/nonexistent/server";
  const plainFile = fixture("good.mjs")[1];
  test.for([
    ["does not exist", [missing], `Error: Command not found: ${missing}\nCheck the spelling, or give the full path\n`],
    ["is not in the path", ["no-such-server-here"], /^Error: Command not found: no-such-server-here\nCheck .+\n$/],
    [
      "may not be executed",
      [plainFile],
      `Error: Command cannot run: ${plainFile}\nEACCES: check that the file is a program and that you may execute it\n`,
    ],
    [
      "is a directory",
      [tmpdir()],
      `Error: Command cannot run: ${tmpdir()}\nEACCES: check that the file is a program and that you may execute it\n`,
    ],
    ["is in a directory that is a file", [`${plainFile}/server`], /^Error: Command .+\n.+\n$/],
    ["has a name that is too long", ["x".repeat(5000)], /^Error: Command .+\n.+\n$/],
    ["has no name", [""], /^Error: .+\n.+\n$/],
  ] as const)("because it %s", async ([, server, text], { start }) => {
    const fairlead = start(server);
    const { stderr, ...end } = await fairlead.end();
    expect(stderr).toMatch(text);
    expect(end).toEqual({ code: 1, signal: null, stdout: "", left: [] });
  });

  test.for([
    [missing, "Give --cwd a directory that exists"],
    [plainFile, "It is a file: give --cwd the directory the server is to start in"],
  ])("because %s is no directory to start it in", async ([cwd, remedy], { start }) => {
    const fairlead = start(fixture("good.mjs"), { options: ["--cwd", cwd] });
    const stderr = `Error: Not a directory: ${cwd}\n${remedy}\n`;
    expect(await fairlead.end()).toEqual({ code: 1, signal: null, stdout: "", stderr, left: [] });
  });
});
