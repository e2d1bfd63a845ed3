import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AuditEvent } from "../../src/record/event.ts";
import { createLoginRefusals, type LoginRefusal, type LoginRefusals } from "../../src/record/login-refusals.ts";

const WRONG_TOKEN: LoginRefusal = {
  by: "us",
  status: 401,
  rule: "http:unauthorized",
  reason: "Unauthorized",
  address: "192.0.2.1",
};

let events: AuditEvent[];
let refusals: LoginRefusals;
beforeEach(() => {
  vi.useFakeTimers();
  events = [];
  refusals = createLoginRefusals({
    audit: (event) => events.push(event),
    server: "http://server/mcp",
    policy: () => "abc",
    time: Date.now,
  });
});
afterEach(() => vi.useRealTimers());

test("a login that we refuse is an event: who came from where, and why not", () => {
  refusals.refused(WRONG_TOKEN);
  expect(events).toMatchObject([
    {
      kind: "login",
      session: null,
      direction: "up",
      class: "review",
      verdict: "deny",
      rule: "http:unauthorized",
      note: null,
      status: 401,
      address: "192.0.2.1",
      reason: "Unauthorized",
      server: "http://server/mcp",
      policy: "abc",
      times: null,
    },
  ]);
});

test("the server's own refusal is noted for the session that it met", () => {
  const session = { id: "s", identity: "alice", mcpSession: "m", clientInfo: () => ({ name: "c", version: "1" }) };
  refusals.refused({ ...WRONG_TOKEN, by: "server", status: 403, rule: "login-refused", session });
  expect(events).toMatchObject([
    {
      session: "s",
      direction: "down",
      verdict: "pass",
      rule: null,
      note: "login-refused",
      status: 403,
      identity: "alice",
      client: { name: "c", version: "1" },
      mcpSession: "m",
    },
  ]);
});

test("whoever tries again and again does not fill the disk: a hundred in ten seconds, then one event for the rest", () => {
  for (let count = 0; count < 5000; count++) refusals.refused(WRONG_TOKEN);
  refusals.refused({ ...WRONG_TOKEN, status: 403, rule: "http:origin", reason: "Invalid Origin header" });
  expect(events).toHaveLength(100);
  vi.advanceTimersByTime(10_000);
  expect(events.slice(100)).toMatchObject([
    { status: 401, rule: "http:unauthorized", times: 4900, address: null },
    { status: 403, rule: "http:origin", times: 1 },
  ]);
  refusals.refused(WRONG_TOKEN);
  expect(events.slice(102)).toMatchObject([{ status: 401, times: null }]);
});

test("what was only counted is written at the end", () => {
  for (let count = 0; count < 103; count++) refusals.refused(WRONG_TOKEN);
  refusals.end();
  expect(events.slice(100)).toMatchObject([{ status: 401, times: 3 }]);
  refusals.end();
  expect(events).toHaveLength(101);
});
