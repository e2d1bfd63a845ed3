import { expect, test } from "vitest";
import { type Backlog, createBacklog } from "../../src/record/audit-backlog.ts";
import type { AuditEvent } from "../../src/record/event.ts";
import { event } from "../support/audit.ts";

const call = (id: number): AuditEvent => event({ id: String(id), time: id });
const list = (id: number): AuditEvent => event({ id: String(id), time: id, class: "log", method: "tools/list" });
const ping = (id: number): AuditEvent => event({ id: String(id), time: id, class: "pass", method: "ping" });

/** The ids that wait, and for each gap -n. */
function contents(backlog: Backlog): number[] {
  return backlog.take(1_000_000).map((entry) => ("lost" in entry ? -entry.lost : Number(entry.id)));
}

function fill(limits: { maxBacklogEvents?: number; maxBacklogBytes?: number }, events: readonly AuditEvent[]): Backlog {
  const backlog = createBacklog({ maxBacklogEvents: Infinity, maxBacklogBytes: Infinity, ...limits });
  for (const each of events) backlog.add(each, "backlog");
  return backlog;
}

test("what matters more stays, and what gives way is counted in its place", () => {
  const ordinary = fill({ maxBacklogEvents: 4 }, [list(1), call(2), list(3), list(4), list(5)]);
  expect(contents(ordinary)).toEqual([1, 2, 3, 4, -1]);
  ordinary.remove(0);
  expect(ordinary.add(call(6), "backlog")).toBe(false);
  expect(contents(ordinary)).toEqual([1, 2, 3, -2, 6]);
  expect(ordinary.unwritten).toBe(6);
});

test("a refusal matters as much as a call, what passes matters least", () => {
  const refused = event({ id: "4", class: "log", kind: "opaque", verdict: "drop", rule: "strict:not-json" });
  expect(contents(fill({ maxBacklogEvents: 2 }, [call(1), list(2), refused]))).toEqual([1, -1, 4]);
  expect(contents(fill({ maxBacklogEvents: 2 }, [call(1), refused, call(3)]))).toEqual([1, 4, -1]);
  expect(contents(fill({ maxBacklogEvents: 2 }, [ping(1), list(2), ping(3), list(4)]))).toEqual([-1, 2, -1, 4]);
});

test("room is room in bytes, too", () => {
  const backlog = fill({ maxBacklogBytes: 1300 }, [list(1), list(2), list(3), call(4)]);
  expect(contents(backlog)).toEqual([1, 2, -1, 4]);
});

test("what has been taken stays as it was", () => {
  const backlog = fill({ maxBacklogEvents: 3 }, [list(1), list(2), list(3)]);
  expect(backlog.take(2)).toHaveLength(2);
  backlog.add(call(4), "backlog");
  backlog.add(call(5), "backlog");
  backlog.remove(2);
  expect(backlog.written).toEqual({ events: 2, lost: 0 });
  expect(contents(backlog)).toEqual([-1, 4, -1]);
});

test("a flood takes time in proportion to its length", () => {
  const size = 20_000;
  const ids = Array.from({ length: size }, (_, index) => index);
  const backlog = fill({ maxBacklogEvents: size }, ids.map(list));
  const since = performance.now();
  for (const id of ids) backlog.add(call(id), "backlog");
  for (const id of ids) backlog.add(call(id), "backlog");
  expect(performance.now() - since).toBeLessThan(2000);
  expect(backlog.unwritten).toBe(3 * size);
  expect(contents(backlog).filter((id) => id < 0)).toEqual([-size, -size]);
});

test("attempts that fail leave one gap, not one each", () => {
  const backlog = fill({ maxBacklogEvents: 1 }, [call(1), call(2)]);
  for (let attempt = 0; attempt < 5; attempt++) {
    backlog.take(500);
    backlog.add(call(3), "ENOSPC");
    backlog.remove(0);
  }
  expect(contents(backlog)).toEqual([1, -6]);
});
