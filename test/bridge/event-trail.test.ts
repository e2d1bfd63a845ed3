import { expect, test } from "vitest";
import { createEventTrail, MAX_TRAILED_EVENTS } from "../../src/bridge/event-trail.ts";
import { describeMethod } from "../../src/message/methods.ts";
import { type Call, createCall } from "../../src/session/calls.ts";

function call(key: number): Call {
  const method = describeMethod("ping");
  if (method === null) throw new Error("no such method");
  return createCall({ key, quoted: null }, method, null, null, "stateful", 0, 0, null);
}

test("what is resumed after an event may answer the calls that were noted with it", () => {
  const trail = createEventTrail();
  const [one, two] = [call(1), call(2)];
  trail.note("a", [one, two]);
  trail.note("b", [two]);
  expect(trail.find("a")).toEqual([one, two]);
  expect(trail.find("b")).toEqual([two]);
  expect(trail.find("c")).toEqual([]);
});

test("a call whose id is used again can be answered on no older stream, not even on one that is open", () => {
  const trail = createEventTrail();
  const [one, two] = [call(1), call(2)];
  trail.note("a", [one, two]);
  const watched = trail.watch(trail.find("a"));
  trail.use(1);
  expect(watched.calls).toEqual([two]);
  expect(trail.find("a")).toEqual([two]);
  trail.note("b", watched.calls);
  expect(trail.find("b")).toEqual([two]);
});

test("a call that was answered on a stream is not answered there again", () => {
  const trail = createEventTrail();
  const one = call(1);
  const watched = trail.watch([one]);
  watched.answered(one);
  expect(watched.calls).toEqual([]);
});

test("so many events are remembered, and with one more the oldest is forgotten", () => {
  const trail = createEventTrail();
  for (let count = 0; count < MAX_TRAILED_EVENTS; count++) trail.note(`e${count}`, [call(count)]);
  expect(trail.find("e0")).toHaveLength(1);
  trail.note("last", [call(0)]);
  expect(trail.find("e0")).toEqual([]);
  expect(trail.find("e1")).toHaveLength(1);
});
