// oxlint-disable unicorn/consistent-function-scoping -- each helper stands beside the one test that uses it
import { mkdtempSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createMemoryAnswers } from "../../src/store/answers.ts";
import type { AnswerKey, TaskKey } from "../../src/store/keys.ts";
import { encodeJson } from "../../src/action/encode.ts";
import { createEventTrail } from "../../src/bridge/event-trail.ts";
import { createGuestBook } from "../../src/bridge/guest-book.ts";
import type { Seat } from "../../src/bridge/seats.ts";
import { createTurnstile } from "../../src/bridge/turnstile.ts";
import { createMemoryState } from "../../src/store/state.ts";
import type { Visit } from "../../src/link/http/door.ts";
import { readTokenFile } from "../../src/link/http/gate-file.ts";
import { readBearer } from "../../src/link/http/gate-tokens.ts";
import { parseChallenge, parseScopes } from "../../src/login/challenge.ts";
import { replyError } from "../../src/link/http/reply.ts";
import { parseAddress } from "../../src/link/upstream/address.ts";
import { createPool } from "../../src/link/upstream/pool.ts";
import { openTunnel } from "../../src/link/upstream/tunnel.ts";
import { readUri } from "../../src/policy/names/uri-readings.ts";
import { loadCel } from "../../src/rules/cel.ts";
import { OTHERS } from "../../src/store/session-data.ts";
import { createLog } from "../../src/record/log/log.ts";
import { createReporter } from "../../src/record/log/report.ts";
import { readClientName } from "../../src/session/owner.ts";
import type { Call } from "../../src/session/call.ts";
import { createResponseReader } from "../../src/wire/http-response.ts";
import { complaints, withRule } from "../config/reading.ts";
import { openTestDoor } from "../support/door.ts";
import { openGateway } from "../support/near-gateway.ts";
import { OPEN, stage } from "../support/play.ts";
import { call as ruleCall, result, rules, stageRules } from "../support/rules.ts";
import { dial, write } from "../support/raw-http.ts";
import { becomes, replyWith, startScripted } from "../support/scripted-http.ts";

// One test for each bound of the table that no other test goes past: what is at the bound, and one more.

describe("messages", () => {
  const say = async (text: string): Promise<"passes" | "is refused"> => {
    const { client, heard } = stage(OPEN);
    await client(`${text}\n`);
    return heard("server") === `${text}\n` ? "passes" : "is refused";
  };

  test("MAX_METHOD_BYTES: a method of 1,024 bytes passes, its quotes included, and a longer one is refused", async () => {
    const named = (length: number): string => `{"jsonrpc":"2.0","method":"${"m".repeat(length)}"}`;
    expect([await say(named(1022)), await say(named(1023))]).toEqual(["passes", "is refused"]);
  });

  test("MAX_KEY_BYTES: a key of 1,024 bytes passes in the envelope and in params, and a longer one is refused", async () => {
    for (const frame of [
      (key: string) => `{"jsonrpc":"2.0","method":"x","${key}":1}`,
      (key: string) => `{"jsonrpc":"2.0","method":"x","params":{"${key}":1}}`,
    ]) {
      expect([await say(frame("k".repeat(1024))), await say(frame("k".repeat(1025)))]).toEqual([
        "passes",
        "is refused",
      ]);
    }
  });

  test("MAX_CLIENT_CHARACTERS: so much of a client's name is kept", () => {
    const name = (length: number): string | null => {
      const bytes = Buffer.from(`{"name":"${"n".repeat(length)}"}`);
      return readClientName(bytes, { start: 0, end: bytes.length });
    };
    expect([name(256)?.length, name(257)?.length]).toEqual([256, 256]);
  });

  test("MAX_DEPTH of what is written: 128 levels are, and one more is not", () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    expect(encodeJson(nested(128))).not.toBeNull();
    expect(encodeJson(nested(129))).toBeNull();
  });
});

describe("responses of servers", () => {
  function read(text: string): string[] {
    const seen: string[] = [];
    const reader = createResponseReader();
    reader.expect(
      {
        head: () => {},
        body: () => {},
        done: () => seen.push("done"),
        fault: (reason) => seen.push(reason),
      },
      "GET",
    );
    reader.push(Buffer.from(text, "latin1"));
    return seen;
  }

  test("MAX_CHUNK_LINE_BYTES: a line before a chunk has 1,024 bytes at the most", () => {
    const chunked = (extension: number): string =>
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${"e".repeat(extension)}\r\nx\r\n0\r\n\r\n`;
    expect([read(chunked(1020)), read(chunked(1021))]).toEqual([["done"], ["a line is too long"]]);
  });

  test("MAX_HEAD of a proxy: an answer to CONNECT has 16 kB at the most", async () => {
    const answer = async (padding: number): Promise<string> => {
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(padding)}\r\n\r\n`));
      });
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      const place = parseAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const { connect } = await import("node:net");
      const socket = connect({ host: place.host, port: place.port });
      const opened = await openTunnel(socket, place, place, 3000).then(
        () => "opened",
        () => "failed",
      );
      socket.destroy();
      server.close();
      return opened;
    };
    expect([await answer(1000), await answer(100_000)]).toEqual(["opened", "failed"]);
  });

  test("MAX_REFUSAL_BYTES: a refusal that is not a message passes up to 64 kB", async () => {
    const pass = async (padding: number): Promise<boolean> => {
      const body = { detail: "d".repeat(padding) };
      const server = await startScripted(({ message, response }) => {
        if (message.method !== "ping") return false;
        replyWith(response, body, {}, 401);
        return true;
      });
      const gateway = await openGateway({ upstream: server.url });
      const { messages } = await gateway.post({ id: 1, method: "ping" }, await gateway.open());
      await gateway.end();
      await server.close();
      return JSON.stringify(messages[0]) === JSON.stringify(body);
    };
    const frame = JSON.stringify({ detail: "" }).length;
    expect([await pass(65_536 - frame), await pass(65_537 - frame)]).toEqual([true, false]);
  });

  test("MAX_SCOPES and MAX_HEADER of a challenge: so many scopes are read, of so long a header", () => {
    const scopes = (count: number): string => Array.from({ length: count }, (_, nth) => `s${nth}`).join(" ");
    expect([parseScopes(scopes(100)).length, parseScopes(scopes(101)).length]).toEqual([100, 100]);
    const challenge = (padding: number): string => `Bearer realm="${"r".repeat(padding)}", scope="x"`;
    const frame = challenge(0).length;
    expect(parseChallenge(challenge(8192 - frame)).scopes).toEqual(["x"]);
    expect(parseChallenge(challenge(8193 - frame)).scopes).toEqual([]);
  });
});

/** A book of sessions, and visits that belong to one. */
function openBook(maxSessions: number) {
  const session = { scope: "x", calls: { up: { isPending: () => false } } };
  const closed: unknown[] = [];
  const guests = createGuestBook({
    seat: () => ({ session: { ...session } }) as unknown as Seat,
    say: () => {},
    onClosed: (over) => void closed.push(over),
    onExhausted: () => {},
    isGuarded: false,
    maxSessions,
  });
  const visit = (sessionId: string, method = "DELETE"): Visit =>
    ({
      method,
      head: { sessionId, onward: "", authorization: null, identity: null },
      principal: null,
      request: { socket: {} },
      response: { destroyed: false, on: () => {}, once: () => {} },
    }) as unknown as Visit;
  const begin = (id: string): void => {
    const guest = guests.find(visit(id));
    if (guest !== null) guests.heard(visit(id, "POST"), guest, { status: 200, headers: [], names: [] });
  };
  return { guests, visit, begin, closed };
}

describe("clients by HTTP", () => {
  test("MAX_HEADER of a token: an Authorization header of 16 kB is read, and a longer one is not", () => {
    const bearer = (length: number): string => `Bearer ${"t".repeat(length - 7)}`;
    expect([readBearer(bearer(16_384))?.length, readBearer(bearer(16_385))]).toEqual([16_377, null]);
  });

  test("MAX_DISCARDED_BYTES: of a request that was refused 16 MB are read, and then its connection is closed", async () => {
    const door = await openTestDoor({
      onVisit: ({ response }) => replyError(response, 415, { code: -32000, message: "no" }, null),
    });
    const send = async (megabytes: number): Promise<boolean> => {
      const socket = await dial({ port: door.port });
      socket.resume();
      socket.write(write({ headers: [["Content-Length", "100000000"]] }));
      for (let sent = 0; sent < megabytes && !socket.destroyed; sent++) {
        await new Promise((resolve) => void socket.write(Buffer.alloc(1_048_576), resolve));
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
      const isClosed = socket.destroyed;
      socket.destroy();
      return isClosed;
    };
    expect([await send(15), await send(20)]).toEqual([false, true]);
    door.close();
  });

  test("maxSessions: the session used least lately is forgotten, and its client can come back", () => {
    const { guests, begin, visit, closed } = openBook(2);
    for (const id of ["a", "b"]) begin(id);
    const leastUsed = guests.find(visit("b"));
    guests.find(visit("a"));
    expect(closed).toEqual([]);
    begin("c");
    expect(closed).toHaveLength(1);
    expect(closed[0]).toBe(leastUsed?.seat.session);
    expect(guests.find(visit("b"))).not.toBeNull();
  });

  test("MAX_FILE_BYTES of a file of tokens: a megabyte is read, and one byte more is not", () => {
    const file = join(mkdtempSync(join(tmpdir(), "fairlead-tokens-")), "tokens");
    const line = `ada ${"t".repeat(32)}\n`;
    writeFileSync(file, line.padEnd(1_048_576, "#"), { mode: 0o600 });
    expect(readTokenFile(file)).toHaveLength(1);
    writeFileSync(file, line.padEnd(1_048_577, "#"), { mode: 0o600 });
    expect(() => readTokenFile(file)).toThrow(/Cannot read/);
  });

  test("MAX_ENDED: a session that is over is known as such until 10,000 others are", () => {
    const { guests, visit } = openBook(10);
    const over = (id: string): void => {
      const guest = guests.find(visit(id));
      if (guest !== null) guests.heard(visit(id), guest, { status: 200, headers: [], names: [] });
    };
    over("first");
    for (let nth = 1; nth < 10_000; nth++) over(`session-${nth}`);
    expect(guests.find(visit("first"))).toBeNull();
    over("one more");
    expect(guests.find(visit("first"))).not.toBeNull();
  });

  test("MAX_EVENT_ID_CHARACTERS: an event whose id is longer cannot be resumed after", () => {
    const trail = createEventTrail();
    const calls = [{} as Call];
    const stream = trail.open(calls);
    stream.note("e".repeat(256));
    stream.note("e".repeat(257));
    expect([trail.resume("e".repeat(256)).calls, trail.resume("e".repeat(257)).calls]).toEqual([calls, []]);
  });
});

describe("servers at a URL", () => {
  test("MAX_WAITING: so many messages of a session wait before its client does", () => {
    const turnstile = createTurnstile();
    turnstile.enter(1, () => {}); // never taken
    for (let nth = 0; nth < 1000; nth++) turnstile.enter(1, () => {});
    expect(turnstile.isFull).toBe(false);
    turnstile.enter(1, () => {});
    expect(turnstile.isFull).toBe(true);
  });

  test("MAX_IDLE: so many idle connections are kept", async () => {
    const sockets = new Set<Socket>();
    const held: (() => void)[] = [];
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => {});
      socket.on("data", () => held.push(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const address = parseAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const pool = createPool(address, { timeoutMs: 5000, ca: null, env: {} }, () => {});
    let done = 0;
    const count = (): void => void done++;
    for (let nth = 0; nth < 66; nth++) {
      const request = { method: "GET", path: "/", headers: "", body: null };
      pool.send(request, { head: () => {}, body: () => {}, done: count, failed: count });
    }
    await becomes(() => held.length === 66);
    for (const answer of held) answer();
    await becomes(() => done === 66 && sockets.size === 64);
    pool.close();
    await becomes(() => sockets.size === 0);
    server.close();
  });
});

describe("what rules remember", () => {
  const task = (taskId: string): TaskKey => ({ of: "task", side: "down", scope: "me", taskId });
  const state = (): ReturnType<typeof createMemoryState> => createMemoryState({ now: () => 0 });

  test("MAX_NAMES: so many methods of a session are counted apart, and the others together", () => {
    const session = state().sessions.load("s");
    for (let nth = 0; nth < 256; nth++) session.count("request", `method/${nth}`);
    expect([session.methods.size, session.methods.has(OTHERS)]).toEqual([256, false]);
    session.count("request", "method/one-more");
    expect(session.methods.has(OTHERS)).toBe(true);
  });

  test("MAX_STATE_CHARACTERS: so much is noted in a session, and no more", () => {
    const session = state().sessions.load("s");
    const room = 65_536 - '"k"""'.length;
    const fits = [...Array(12).keys()].find((less) => session.note("k", "v".repeat(room - less)));
    expect(fits).toBeDefined();
    expect(session.note("k", "v".repeat(65_537))).toBe(false);
    expect(session.note("another", "v")).toBe(false);
  });

  test("MAX_CONVERSATIONS: so many tasks are known, and the oldest is forgotten for the next", () => {
    const { tasks } = state();
    const origin = { method: "tools/call", tool: "x", params: null };
    for (let nth = 0; nth < 10_000; nth++) tasks.remember(task(`task ${nth}`), origin);
    expect(tasks.find(task("task 0"))).toBeDefined();
    tasks.remember(task("one more"), origin);
    expect(tasks.size).toBe(10_000);
  });

  test("MAX_TASK_BYTES: so many bytes of tasks are known", () => {
    const { tasks } = state();
    for (let nth = 0; nth < 20; nth++) {
      tasks.remember(task(`task ${nth}`), { method: "tools/call", tool: "x", params: Buffer.alloc(1024 * 1024) });
    }
    expect(tasks.size).toBeLessThan(17);
    expect(tasks.find(task("task 19"))).toBeDefined();
  });
});

describe("expressions and links", () => {
  test("MAX_CEL_NODES: an expression of so many nodes compiles, and a larger one is a mistake", async () => {
    const compile = await loadCel([]);
    // A list of ones: four nodes are around them.
    const list = (ones: number): string => `[${Array(ones).fill("1").join(",")}].size() > 0`;
    expect(["problem" in compile(list(996)), "problem" in compile(list(997))]).toEqual([false, true]);
  });

  test("MAX_CEL_DEPTH: an expression that is nested deeper than 64 is a mistake", async () => {
    const compile = await loadCel([]);
    const nested = (depth: number): string => `${"(".repeat(depth)}1 > 0${")".repeat(depth)}`;
    expect(["problem" in compile(nested(63)), "problem" in compile(nested(64))]).toEqual([false, true]);
  });

  test("MAX_URI_CHARACTERS: a link of 2,048 characters is judged, and a longer one could be about anything", () => {
    const link = (length: number): string => "note:///".padEnd(length, "a");
    expect([readUri(link(2048)) === null, readUri(link(2049)) === null]).toEqual([false, true]);
  });

  test("MAX_DECODINGS: a link that is encoded four times is judged, and one more could be about anything", () => {
    const encoded = (times: number): string => `note:///a${"%".concat("25".repeat(times - 1), "41")}`;
    expect([readUri(encoded(4)) === null, readUri(encoded(5)) === null]).toEqual([false, true]);
  });
});

test("MAX_LINES: a rule writes ten lines in ten seconds, and the others are counted", () => {
  const lines: string[] = [];
  let clock = 0;
  const reporter = createReporter(createLog({ write: (line) => void lines.push(line) }), () => clock);
  for (let nth = 0; nth < 12; nth++) reporter.report("rule", `line ${nth}`);
  expect(lines).toHaveLength(10);
  clock = 10_000;
  reporter.report("rule", "later");
  expect(lines.slice(10).join("")).toMatch(/2 more like this[^]*later/);
});

describe("rules that look at lists, and at requests when their answers come", () => {
  test("MAX_PATHS: a list of 10,000 paths is judged, and a longer one is blocked", async () => {
    const { client, heard } = await stageRules(
      rules(
        `- id: outside\n  conditions: [{ not: { param_within: { field: arguments.paths, paths: [/work] } } }]\n  actions: [{ block: "no" }]`,
      ),
    );
    const paths = (count: number): string[] => Array<string>(count).fill("/work/a");
    await client(ruleCall(1, "read", { paths: paths(10_000) }), ruleCall(2, "read", { paths: paths(10_001) }));
    expect(heard("server").match(/"id":\d/g)).toEqual(['"id":1']);
  });

  test("MAX_KEPT_PARAMS: a megabyte of params is kept for a rule that judges the answer, and with more the answer is blocked", async () => {
    const { client, server, heard } = await stageRules(rules(ON_ANSWERS));
    // The params are {"name":"read","arguments":{"y":"…"}}.
    const padding = 1_048_576 - JSON.stringify({ name: "read", arguments: { y: "" } }).length;
    await client(ruleCall(1, "read", { y: "y".repeat(padding) }), ruleCall(2, "read", { y: "y".repeat(padding + 1) }));
    await server(result(1, { content: [] }), result(2, { content: [] }));
    expect(heard("client").match(/"(?:result|error)"/g)).toEqual(['"result"', '"error"']);
  });

  test("MAX_KEPT_BYTES: 32 MB of params are kept in one session, and the answer to what is over it is blocked", async () => {
    const { client, server, heard } = await stageRules(rules(ON_ANSWERS));
    const padding = 1_048_576 - JSON.stringify({ name: "read", arguments: { y: "" } }).length;
    for (let id = 0; id < 32; id++) await client(ruleCall(id, "read", { y: "y".repeat(padding) }));
    await client(ruleCall(32, "read"));
    await server(result(31, { content: [] }), result(32, { content: [] }));
    expect(heard("client").match(/"(?:result|error)"/g)).toEqual(['"result"', '"error"']);
  });
});

const ON_ANSWERS = `- id: both
  conditions: [{ result_exists: content }, { param_exists: arguments.x }]
  actions: [{ block: "no" }]`;

describe("policy files", () => {
  const isRight = (text: string): boolean => complaints(text).every((line) => !/ (wrong|too|bad|not)-/.test(line));

  test("MAX_TEXT_CHARACTERS: a text of 65,536 characters is right, and a longer one is a mistake", () => {
    const policy = (length: number): string =>
      withRule("[{ method_equals: ping }]", `[{ block: ${"t".repeat(length)} }]`);
    expect(complaints(policy(65_536))).toEqual([]);
    expect(complaints(policy(65_537))).toHaveLength(1);
  });

  test("MAX_STEPS: a field of 64 steps is right, and one of 65 is a mistake", () => {
    const field = (steps: number): string => Array.from({ length: steps }, () => "a").join(".");
    const policy = (steps: number): string => withRule(`[{ method_equals: x/y }, { param_exists: ${field(steps)} }]`);
    expect(complaints(policy(65)).length - complaints(policy(64)).length).toBe(1);
  });

  test("MAX_BYTES and MAX_TIMER_MS: sizes and times end where timers and buffers do", () => {
    expect(isRight("limits: { max_message: 2147483647B }")).toBe(true);
    expect(complaints("limits: { max_message: 2147483648B }")).toHaveLength(1);
    expect(complaints("timeouts: { connection: 2147483647ms }")).toEqual([]);
    expect(complaints("timeouts: { connection: 2147483648ms }")).toHaveLength(1);
  });

  test("MAX_DIGITS: a number of more than 400 digits is a mistake", () => {
    const policy = (digits: number): string =>
      withRule(`[{ method_equals: x/y }, { param_equals: { field: a, value: ${"9".repeat(digits)} } }]`);
    expect(complaints(policy(401)).length - complaints(policy(400)).length).toBe(1);
  });

  test("MAX_PATTERN_SIZE: a pattern of more than 2,048 instructions is a mistake", () => {
    const policy = (size: number): string =>
      withRule(`[{ method_equals: x/y }, { param_matches: { field: a, pattern: "a{${size}}" } }]`);
    expect(complaints(policy(900)).filter((line) => line.includes("too large"))).toEqual([]);
    expect(complaints(policy(3000)).length).toBeGreaterThan(complaints(policy(900)).length);
  });
});

const keyOf = (key: string): AnswerKey => ({
  of: "answer",
  scope: "shared",
  audience: null,
  server: "s",
  rule: "r",
  era: "stateful",
  method: "tools/list",
  subject: null,
  key,
});

test("MAX_ENTRIES: the cache action keeps 10,000 answers, and the one not asked for longest goes first", () => {
  const cache = createMemoryAnswers({ now: () => 0 });
  const answer = { result: Buffer.from("{}"), era: "stateful" } as unknown as Parameters<typeof cache.keep>[1];
  for (let nth = 0; nth < 10_000; nth++) cache.keep(keyOf(`key ${nth}`), answer, 1000);
  expect(cache.find(keyOf("key 0"))).toBeDefined();
  cache.keep(keyOf("one more"), answer, 1000);
  expect([cache.find(keyOf("key 0")), cache.find(keyOf("key 1"))].filter((found) => found === undefined)).toHaveLength(
    1,
  );
});
