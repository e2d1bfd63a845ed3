import { expect, test } from "vitest";
import { createEventTrail, MAX_TRAILED_BYTES, MAX_TRAILED_EVENTS } from "../../src/bridge/event-trail.ts";
import { describeMethod } from "../../src/message/methods.ts";
import { type Call, createCall } from "../../src/session/call.ts";

function call(key: number, bytes = 0): Call {
  const method = describeMethod("ping");
  if (method === null) throw new Error("no such method");
  const made = createCall({ key, quoted: null }, method, null, null, "stateful", 0, 0, null);
  made.memo = { bytes };
  return made;
}

test("after an event may be answered what had not been answered before it", () => {
  const trail = createEventTrail();
  const [one, two] = [call(1), call(2)];
  const stream = trail.open([one, two]);
  stream.note("a");
  stream.answered(one);
  stream.note("b");
  stream.answered(two);
  stream.end();
  expect(trail.resume("a").calls).toEqual([one, two]);
  expect(trail.resume("b").calls).toEqual([two]);
  expect(trail.resume("c").calls).toEqual([]);
});

test("a call whose id is used again can be answered on no older stream, not even on one that is open", () => {
  const trail = createEventTrail();
  const [one, two, three] = [call(1), call(2), call(3)];
  const stream = trail.open([one, two, three]);
  stream.note("a");
  stream.answered(three);
  const resumed = trail.resume("a");
  trail.use(1);
  trail.use(3);
  expect(resumed.calls).toEqual([two]);
  expect(stream.calls).toEqual([two]);
  expect(trail.resume("a").calls).toEqual([two]);
  resumed.note("b");
  expect(trail.resume("b").calls).toEqual([two]);
});

test("a call that was answered on a stream is not answered there again", () => {
  const one = call(1);
  const stream = createEventTrail().open([one]);
  stream.answered(one);
  expect(stream.calls).toEqual([]);
});

test("an id that two streams give to their events resumes neither of them", () => {
  const trail = createEventTrail();
  trail.open([call(1)]).note("1");
  const other = trail.open([call(2)]);
  other.note("1");
  expect(trail.resume("1").calls).toEqual([]);
  other.note("1");
  expect(trail.resume("1").calls).toEqual([]);
});

test("a stream that was resumed gives its events the ids they had", () => {
  const trail = createEventTrail();
  const one = call(1);
  const stream = trail.open([one]);
  stream.note("1");
  stream.note("2");
  stream.end();
  trail.resume("1").note("2");
  expect(trail.resume("2").calls).toEqual([one]);
});

test("so many events are remembered, and with one more the oldest is forgotten", () => {
  const trail = createEventTrail();
  for (let count = 0; count < MAX_TRAILED_EVENTS; count++) trail.open([call(count)]).note(`e${count}`);
  expect(trail.resume("e0").calls).toHaveLength(1);
  trail.open([call(-1)]).note("last");
  expect(trail.resume("e0").calls).toEqual([]);
  expect(trail.resume("e1").calls).toHaveLength(1);
});

test("so many bytes are kept with the calls, and with one more the oldest event is forgotten", () => {
  const trail = createEventTrail();
  trail.open([call(1, MAX_TRAILED_BYTES - 1)]).note("a");
  trail.open([call(2, 1)]).note("b");
  expect(trail.resume("a").calls).toHaveLength(1);
  trail.open([call(3, 1)]).note("c");
  expect(trail.resume("a").calls).toEqual([]);
  expect(trail.resume("b").calls).toHaveLength(1);
});

test("what a stream keeps is counted once, for all its events", () => {
  const trail = createEventTrail();
  const stream = trail.open([call(1, MAX_TRAILED_BYTES)]);
  for (let nth = 0; nth < 10; nth++) stream.note(`a${nth}`);
  expect(trail.resume("a0").calls).toHaveLength(1);
});
