import { describe, expect, test, vi } from "vitest";
import { Unaudited } from "../../src/record/event.ts";
import type { Happening } from "../../src/record/observers.ts";
import { createWitness, type Witness } from "../../src/record/witness.ts";
import { createSession } from "../../src/session/session.ts";
import { denying, OPEN, stage } from "../support/play.ts";
import { call, line, stageRules } from "../support/rules.ts";

const PING = line({ id: 1, method: "ping" });
const INITIALIZE = line({
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tester", version: "1" } },
});
const WELCOME = line({ id: 0, result: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} } });

function makeWitness(): { witness: Witness; said: string[] } {
  const said: string[] = [];
  const reporter = { report: (rule: string, text: string) => void said.push(`${rule}: ${text}`), end: () => {} };
  const witness = createWitness({ reporter, audit: null, auditAll: false, time: () => 0, now: () => 0 });
  return { witness, said };
}

function offline(): unknown {
  return Promise.reject(new Error("offline"));
}

function unaudited(): never {
  throw new Unaudited();
}

const session = createSession({
  id: "s1",
  maxOpenCalls: 1,
  learnsTools: () => false,
  say: () => {},
  now: () => 0,
  server: "npx server",
});

describe("an observer", () => {
  test("sees what becomes of a message: the turn, what was decided, what leaves, and by which policy", async () => {
    const { client, witness, rulebook } = stage(denying("^delete_"));
    rulebook.current = { ...rulebook.current, stamp: { version: "v1", metadata: () => null } };
    const seen: Happening[] = [];
    witness.observe((happening) => seen.push(happening));
    await client(PING);
    expect(seen).toMatchObject([
      {
        at: "judged",
        turn: { came: { start: 0, end: PING.length - 1 }, session: { server: "server", transport: "stdio" } },
        decision: { verdict: { do: "pass" }, rule: null },
        outcome: { onward: "untouched" },
        stamp: { version: "v1" },
      },
    ]);
  });

  test("sees what was lost, what is wrong, what was counted, and that another policy holds", async () => {
    const { client, witness } = stage(OPEN, { maxMessageBytes: 50 });
    const seen: Happening[] = [];
    witness.observe((happening) => seen.push(happening));
    await client(line({ id: 7, method: "ping", params: { text: "x".repeat(100) } }));
    witness.trouble("http:accept", "could not accept a connection");
    witness.count("fork", { outcome: "same", rule: "rule:a" }, 2);
    witness.refusedLogin({ by: "us", status: 401, rule: "http:unauthorized", reason: "Unauthorized", address: null });
    witness.changedPolicy({ version: "v2", metadata: () => null });
    expect(seen).toMatchObject([
      { at: "lost", direction: "up", id: "7", rule: "strict:too-large" },
      { at: "trouble", rule: "http:accept", text: "could not accept a connection" },
      { at: "counted", name: "fork", labels: { outcome: "same", rule: "rule:a" }, by: 2 },
      { at: "counted", name: "login", labels: { by: "us", rule: "http:unauthorized" }, by: 1 },
      { at: "policy", version: "v2" },
    ]);
  });

  test("that fails is logged once, whether it throws or rejects, and touches nobody else", async () => {
    const { client, heard, witness, said } = stage(OPEN);
    const seen: string[] = [];
    witness.observe(() => {
      throw new Error("disk full");
    });
    witness.observe(offline);
    witness.observe(({ at }) => void seen.push(at));
    await client(PING, line({ id: 2, method: "ping" }));
    expect(heard("server")).toBe(PING + line({ id: 2, method: "ping" }));
    expect(heard("client")).toBe("");
    expect(seen).toEqual(["judged", "judged"]);
    expect(said).toEqual([
      'warn  an observer failed: disk full rule="observer"',
      'warn  an observer failed: offline rule="observer"',
    ]);
  });

  test("comes after those that were added before it, and can leave while it is told", () => {
    const { witness } = makeWitness();
    const seen: string[] = [];
    witness.observe(() => void seen.push("first"));
    const leave = witness.observe(() => {
      seen.push("second");
      leave();
    });
    witness.observe(() => void seen.push("third"));
    witness.trouble("a", "b");
    witness.trouble("a", "b");
    leave();
    expect(seen).toEqual(["first", "second", "third", "first", "third"]);
  });

  test("does not see a message that the audit refuses: it was never so", async () => {
    const { client, witness } = stage(OPEN, { audit: unaudited });
    const seen: string[] = [];
    witness.observe(({ at }) => void seen.push(at));
    await client(PING);
    expect(seen).toEqual(["trouble"]);
  });
});

describe("a session", () => {
  test("is opened and closed once, and is in the list meanwhile", () => {
    const { witness } = makeWitness();
    const seen: Happening[] = [];
    witness.observe((happening) => seen.push(happening));
    witness.opened(session);
    witness.opened(session);
    expect(witness.sessions()).toEqual([session]);
    witness.closed(session);
    witness.closed(session);
    expect(witness.sessions()).toEqual([]);
    const who = {
      session: "s1",
      mcpSession: null,
      client: null,
      identity: null,
      transport: "stdio",
      revision: null,
      server: "npx server",
    };
    expect(seen).toEqual([
      { at: "session", state: "opened", who },
      { at: "session", state: "closed", who },
    ]);
  });

  test("that is still open is closed at the end", () => {
    const { witness } = makeWitness();
    const states: string[] = [];
    witness.opened(session);
    witness.observe((happening) => happening.at === "session" && void states.push(happening.state));
    witness.end();
    expect(states).toEqual(["closed"]);
  });

  test("that was never opened is not introduced, and not closed", () => {
    const { witness } = makeWitness();
    const seen = vi.fn();
    witness.observe(seen);
    witness.introduced(session);
    witness.closed(session);
    expect(seen).not.toHaveBeenCalled();
  });

  test("tells when its handshake is over: by then client and revision are known", async () => {
    const onIntroduced = vi.fn();
    const { client, server, session: own } = stage(OPEN, { onIntroduced });
    await client(INITIALIZE);
    expect(onIntroduced).not.toHaveBeenCalled();
    await server(WELCOME);
    expect(onIntroduced).toHaveBeenCalledTimes(1);
    expect([own.clientInfo(), own.revision()]).toEqual([{ name: "tester", version: "1" }, "2025-06-18"]);
  });
});

describe("counts", () => {
  test("are printed as people know them, in the order they were first counted", async () => {
    const { client, server, witness } = await stageRules(
      `interceptor:
  rules:
    - id: none
      conditions: [{ tool_matches: ^delete_ }]
      actions: [{ block: "no" }]
`,
      { maxMessageBytes: 200 },
    );
    await client(PING, call(2, "delete_all"), call(3, "x", { text: "x".repeat(300) }));
    await server("{no json}\n");
    witness.count("would", { action: "block", rule: "rule:a" });
    witness.count("would", { action: "match", rule: "rule:a" });
    witness.count("failed", { rule: "rule:a" });
    witness.count("fork", { outcome: "differs", rule: "rule:b" });
    witness.count("metric", { name: "deletes_total" }, 4);
    witness.count("metric", { name: "deletes_total" }, 0.5);
    const refusal = { status: 401, rule: "http:unauthorized", reason: "", address: null };
    witness.refusedLogin({ by: "us", ...refusal });
    witness.refusedLogin({ by: "server", ...refusal, rule: "login-refused" });
    expect(Object.entries(witness.counts())).toEqual([
      ["passed", 1],
      ["deny rule:none", 1],
      ["deny strict:too-large", 1],
      ["drop strict:not-json", 1],
      ["would block rule:a", 1],
      ["would match rule:a", 1],
      ["failed rule:a", 1],
      ["fork differs rule:b", 1],
      ["metric deletes_total", 4.5],
      ["deny http:unauthorized", 1],
      ["login refused by the server", 1],
    ]);
  });
});

test("where nobody observes, no happening is made", () => {
  const { witness } = makeWitness();
  const asked = vi.fn(() => null);
  witness.opened({ ...session, clientInfo: asked });
  witness.changedPolicy({
    get version(): string {
      throw new Error("nobody asked");
    },
    metadata: () => null,
  });
  witness.end();
  expect(asked).not.toHaveBeenCalled();
});
