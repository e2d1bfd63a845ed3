import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  EVERYTHING,
  KUBERNETES,
  expectSameBytes,
  linesOf,
  MODERN,
  scene,
  type Scene,
  type Spoken,
  talkTo,
  watchFamily,
} from "../support/peers.ts";

// Everything here is JSON-RPC as the specification has it, and nothing is as JSON.stringify would write it.
const ODD: Readonly<Record<string, string>> = {
  "space between all tokens": '{ "jsonrpc" : "2.0" ,\t"id" : "a" , "method" : "ping" , "params" : { } }',
  "space at both ends": ' \t{"jsonrpc":"2.0","id":"a2","method":"ping"}\t ',
  "the id first, as zero": '{"id":0,"jsonrpc":"2.0","method":"ping"}',
  "the id last": '{"method":"ping","jsonrpc":"2.0","id":12345}',
  "a negative id": '{"jsonrpc":"2.0","id":-7,"method":"ping"}',
  "the largest integer as id": '{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}',
  "an empty text as id": '{"jsonrpc":"2.0","id":"","method":"ping"}',
  "an id of escapes": '{"jsonrpc":"2.0","id":"\\u0041\\/\\ud83d\\ude00\\u00e4","method":"ping"}',
  "an id in other scripts": '{"jsonrpc":"2.0","id":"ä😀\u2028","method":"ping"}',
  "a method of escapes": '{"jsonrpc":"2.0","id":"b","method":"\\u0070in\\u0067"}',
  "keys of escapes": '{"\\u006asonrpc":"2.0","id":"c","m\\u0065thod":"ping"}',
  "a carriage return before the newline": '{"jsonrpc":"2.0","id":"d","method":"ping"}\r',
  "members nobody knows": '{"jsonrpc":"2.0","id":"e","method":"ping","params":{"_meta":{"a/b":1.0},"x":[{}],"y":null}}',
  "a call with its name last": callOdd("f", '"\\u003cb\\u003e"', '"arguments":@,"name":"ec\\u0068o"'),
  "escapes and controls": callOdd("g", '"\\u0000\\u001f\\u007f\\u2028\\/\\b\\f\\n\\r\\t\\"\\\\"'),
  "half of a pair": callOdd("h", '"cut in the middle: \\ud83d"'),
  "characters of two, three and four bytes": callOdd("i", '"ä€😀\u2028\u2029\ufeff"'),
  "members that only matter elsewhere": callOdd(
    "j",
    '"x","name":"n","Name":"N","method":"m","ID":1,"jsonrpc":[],"id":{}',
  ),
  "a prototype": callOdd("k", '"x","__proto__":{"y":1},"constructor":{"prototype":{}}'),
  "a long text": callOdd("m", `"${"0123456789".repeat(300_000)}"`),
};

// These do not fit the schema of `echo` in the servers that check, so what they answer is an error: it passes, too.
const NUMBERS = Object.fromEntries(
  ["12345678901234567890", "1.0", "-0", "1E+2", "0.1000000000000000055511151231257827", "1e400"].map((number, nth) => [
    number,
    callOdd(`n${nth}`, number),
  ]),
);

// For the server in Go, which has no `echo`, and which ends at a single space behind a message.
const PINGS = Object.fromEntries(
  Object.entries(ODD).filter(([, line]) => !line.includes("tools/call") && !line.endsWith(" ")),
);

for (const server of [EVERYTHING, MODERN, ...(KUBERNETES === null ? [] : [KUBERNETES])]) {
  describe(`odd spellings for ${server.title}`, () => {
    scene("each arrives as it was spelled, and its answer as the server spelled it", async (stage) => {
      const spellings = server === KUBERNETES ? PINGS : { ...ODD, ...NUMBERS };
      const through = await saySpellings(stage, stage.fairlead(server), Object.values(spellings));
      const [{ up, down }] = stage.tapes("server");
      expectSameBytes("what the server got", up, through.sent);
      expectSameBytes("what the client got", through.received, down);
      for (const [what, line] of Object.entries(spellings)) expect(up.includes(`\n${line}\n`), what).toBe(true);
      const direct = await saySpellings(stage, server.command, Object.values(spellings));
      expectSameBytes("the transcript", through.received, direct.received);
      // All of them were answered, and as few as can be with an error of the protocol's.
      const answers = linesOf(through.received).map((line) => JSON.parse(line) as Spoken);
      expect(answers.length).toBe(Object.keys(spellings).length + 1);
      expect(answers.filter(({ error }) => error !== undefined)).toEqual([]);
    });
  });
}

describe("these tests can fail", () => {
  // What proxies on an SDK do: every message is read and written anew.
  const REWRITER = `
    const child = require("node:child_process").spawn(process.argv[1], process.argv.slice(2), { stdio: ["pipe", "pipe", "inherit"] });
    const anew = (from, to) => require("node:readline").createInterface({ input: from })
      .on("line", (line) => to.write(JSON.stringify(JSON.parse(line)) + "\\n")).on("close", () => to.end());
    anew(process.stdin, child.stdin);
    anew(child.stdout, process.stdout);`;

  for (const [what, line] of Object.entries(ODD).filter(([, line]) => line !== JSON.stringify(JSON.parse(line)))) {
    scene(`a proxy that writes messages anew is noticed by: ${what}`, async (stage) => {
      const through = await saySpellings(stage, behind(stage, REWRITER), [line]);
      const [{ up }] = stage.tapes("server");
      expect(() => expectSameBytes("what the server got", up, through.sent)).toThrow(
        "what the server got: differs at byte",
      );
    });
  }

  test("one byte more, less or other is a difference", () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}\n');
    expectSameBytes("a copy", Buffer.from(bytes), bytes);
    for (let at = 0; at < bytes.length; at++) {
      const other = Buffer.from(bytes);
      other[at] ^= 1;
      expect(() => expectSameBytes("other", other, bytes)).toThrow(`differs at byte ${at} of`);
    }
    expect(() => expectSameBytes("less", bytes.subarray(0, -1), bytes)).toThrow("differs");
    expect(() => expectSameBytes("more", Buffer.concat([bytes, Buffer.from("\n")]), bytes)).toThrow("differs");
  });

  test("a process that stays is found, also one that lost its mark and its parent", async () => {
    const { spawn } = await import("node:child_process");
    const mark = randomBytes(12).toString("hex");
    const family = watchFamily(mark);
    const script = "env -i /bin/sleep 20 & sleep 0.5";
    const shell = spawn("/bin/sh", ["-c", script], { env: { PATH: "/usr/bin:/bin", MARK: mark }, stdio: "ignore" });
    await new Promise((resolve) => shell.once("exit", resolve));
    expect(await family.leave(0)).toEqual([expect.stringContaining("/bin/sleep 20")]);
    expect(await family.leave(1000)).toEqual([]);
  });
});

function behind(stage: Scene, program: string): string[] {
  return [process.execPath, "-e", program, ...stage.taped("server", MODERN.command)];
}

async function saySpellings(stage: Scene, command: readonly string[], lines: readonly string[]) {
  const talk = talkTo(stage, command);
  const params = '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}';
  await talk.ask(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":${params}}`);
  // A member beside `params` that nobody knows. In a notification: the SDKs' servers never answer a request that has one.
  talk.write('{"x":[{}],"jsonrpc":"2.0","method":"notifications/nothing","y":null}\n');
  for (const line of lines) await talk.ask(line);
  return talk.end(1500);
}

function callOdd(id: string, message: string, params = '"name":"echo","arguments":@'): string {
  return `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{${params.replace("@", () => `{"message":${message}}`)}}}`;
}
