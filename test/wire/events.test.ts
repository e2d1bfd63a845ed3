import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanEvent, type EventFrame, pickData, replaceData } from "../../src/wire/event-fields.ts";
import { createEventFramer } from "../../src/wire/events.ts";
import { settledMemory } from "../support/memory.ts";
import { runs } from "../support/runs.ts";

interface Seen {
  readonly name: string | null;
  readonly data: string | null;
}

function cut(chunks: readonly (string | Buffer)[], maxEventBytes = 1000) {
  const events: Seen[] = [];
  const bytes: Buffer[] = [];
  const excess: string[] = [];
  const framer = createEventFramer(maxEventBytes, {
    event({ bytes: buffer, start, end, name, data }: EventFrame) {
      bytes.push(Buffer.from(buffer.subarray(start, end)));
      events.push({ name, data: data === null ? null : data.bytes.toString("utf8", data.start, data.end) });
    },
    excess(piece, ends) {
      bytes.push(Buffer.from(piece));
      if (ends) excess.push("end");
    },
    tail: (rest) => bytes.push(rest),
  });
  for (const chunk of chunks) framer.push(Buffer.from(chunk));
  framer.end();
  return { events, stream: Buffer.concat(bytes).toString("utf8"), excess };
}

test("an event is its name and its data", () => {
  expect(cut(["event: message\nid: 1\ndata: {}\n\n"]).events).toEqual([{ name: "message", data: "{}" }]);
  expect(cut(["data:{}\n\ndata:  x\n\n"]).events).toEqual([
    { name: null, data: "{}" },
    { name: null, data: " x" },
  ]);
});

test("lines of data are joined", () => {
  expect(cut(["data: a\ndata\ndata: b\n\n"]).events).toEqual([{ name: null, data: "a\n\nb" }]);
});

test("comments, keep-alives and priming events carry nothing", () => {
  expect(cut([": ping\n\nid: 7\nretry: 10\ndata: \n\n\n"]).events).toEqual([
    { name: null, data: null },
    { name: null, data: null },
    { name: null, data: null },
  ]);
});

test("CR, LF and CRLF all end lines", () => {
  const expected = [{ name: "message", data: "{}" }];
  for (const end of ["\n", "\r", "\r\n"])
    expect(cut([`event: message${end}data: {}${end}${end}`]).events).toEqual(expected);
  expect(cut(["event: message\r\ndata: {}\n\r"]).events).toEqual(expected);
});

test("an event that ends with CR is handed on at once, and an LF that follows carries nothing", () => {
  const { events } = cut(["data: 1\r\r"]);
  expect(events).toHaveLength(1);
  expect(cut(["data: 1\r\n\r", "\ndata: 2\r\n\r\n"]).events).toEqual([
    { name: null, data: "1" },
    { name: null, data: null },
    { name: null, data: "2" },
  ]);
});

test("what has no blank line when the stream ends does not count", () => {
  expect(cut(["data: 1\n\ndata: 2\n"])).toMatchObject({ events: [{ data: "1" }], stream: "data: 1\n\ndata: 2\n" });
});

test("an event over the limit is not kept, and the next one is read", () => {
  const { events, excess } = cut([`data: ${"x".repeat(50)}`, "y\n\ndata: 2\n\n"], 20);
  expect(events).toEqual([{ name: null, data: "2" }]);
  expect(excess).toEqual(["end"]);
});

function isSomething({ name, data }: Seen): boolean {
  return name !== null || data !== null;
}

test("where the stream is cut changes neither the events nor the bytes", () => {
  const line = fc.constantFrom(
    "data: {}",
    "data:x",
    "data",
    ": c",
    "event: message",
    "id: 1",
    "retry: 5",
    "odd",
    "data: é\u2028",
    "",
  );
  const end = fc.constantFrom("\n", "\r\n", "\r");
  const stream = fc
    .array(fc.tuple(line, end), { maxLength: 30 })
    .map((lines) => lines.map((pair) => pair.join("")).join(""));
  fc.assert(
    fc.property(stream, fc.array(fc.nat(200), { maxLength: 10 }), (text, cuts) => {
      const bytes = Buffer.from(text);
      const places = [...new Set(cuts.map((place) => place % (bytes.length + 1)))].sort((one, other) => one - other);
      const chunks = [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
      const whole = cut([bytes]);
      const pieced = cut(chunks.filter((chunk) => chunk.length > 0));
      expect(pieced.events.filter(isSomething)).toEqual(whole.events.filter(isSomething));
      expect(pieced.stream).toBe(text);
    }),
    { numRuns: runs(2000) },
  );
});

/** The frames of a stream that arrives in these chunks, as they are handed on after each. */
function frames(...chunks: (string | Buffer)[]): EventFrame[][] {
  let handed: EventFrame[] = [];
  const framer = createEventFramer(1000, { event: (frame) => handed.push(frame), excess: () => {}, tail: () => {} });
  return chunks.map((chunk) => {
    handed = [];
    framer.push(Buffer.from(chunk));
    return handed;
  });
}

function shown({ bytes, start, end }: EventFrame): string {
  return bytes.toString("utf8", start, end);
}

test("an event that ends with CRLF is handed on with all of it: readers wait for the LF", () => {
  expect(frames("data: 1\r\n\r\n").map((list) => list.map(shown))).toEqual([["data: 1\r\n\r\n"]]);
  expect(frames("data: 1\r\n\r\ndata: 2\r\n\r\n")[0].map(shown)).toEqual(["data: 1\r\n\r\n", "data: 2\r\n\r\n"]);
});

test("the LF of a CRLF that was cut in two follows at once", () => {
  expect(frames("data: 1\r\n\r", "\n").map((list) => list.map(shown))).toEqual([["data: 1\r\n\r"], ["\n"]]);
});

test("a stream may begin with a BOM, an event may not", () => {
  const [[first, second]] = frames("\uFEFFdata: 1\n\n\uFEFFdata: 2\n\n");
  expect(first.data).not.toBeNull();
  expect(second.data).toBeNull();
  expect(shown(first)).toBe("\uFEFFdata: 1\n\n");
});

test.each(["\n", "\r\n"])("data is replaced wherever it stands, in lines that end with %j", (end) => {
  const lines = ["data: old", "data:old", "id: 5", ": c", "event: message", "data: old", "", ""];
  const [[frame]] = frames(lines.join(end));
  const replaced = replaceData(frame, Buffer.from("new")).toString("utf8");
  expect(replaced).toBe(`data: new\nid: 5${end}: c${end}event: message${end}${end}`);
  expect(replaceData(frame, null).toString("utf8")).toBe(`id: 5${end}: c${end}${end}`);
});

test.each([
  ["with a byte order mark", "\uFEFFevent: message\ndata: old\nid: 5\nretry: 7\n\n"],
  ["with CR alone", "event: message\rdata: old\rid: 5\rretry: 7\r\r"],
  ["with fields that nobody knows", "odd: old\n data: old\nevent: message\nData: old\nid: 5\nretry: 7\ndata: old\n\n"],
  ["with fields that stand twice", "event: x\nid: 4\nretry: 7\nid: 5\nevent: message\ndata: old\n\n"],
])("an event %s is written anew, and keeps what is known of it", (_, text) => {
  const [[frame]] = frames(text);
  expect(replaceData(frame, Buffer.from("new")).toString("utf8")).toBe(
    "event: message\nid: 5\nretry: 7\ndata: new\n\n",
  );
  expect(replaceData(frame, null).toString("utf8")).toBe("id: 5\nretry: 7\n\n");
});

test("data replaced in any event leaves none of the old", () => {
  const line = fc.constantFrom("data: old", "data:old", "data", " data: old", "event: x", "id: 1", ": old?", "odd");
  const end = fc.constantFrom("\n", "\r\n", "\r");
  const event = fc.tuple(fc.constantFrom("", "\uFEFF"), fc.array(line, { minLength: 1, maxLength: 8 }), end);
  fc.assert(
    fc.property(event, ([bom, lines, lineEnd]) => {
      const text = bom + [...lines, "data: old", "", ""].join(lineEnd);
      const [[frame]] = frames(text);
      const [[after]] = frames(replaceData(frame, Buffer.from("new")).toString("utf8"));
      const { data } = after;
      expect(data === null ? null : data.bytes.toString("utf8", data.start, data.end)).toBe("new");
    }),
  );
});

const NEXT_LINE = "\u0085";

test.each([
  ["data: {}\n\n"],
  ["data:{}\r\n\r\n"],
  ["event: message\nid: 1\nretry: 10\n: a comment\t~\ndata: {}\n\n"],
  ['data: {"a":\ndata: 1}\n\n'],
  ['data: ["é", "\u{1f600}", "\u00a0\ufeff"]\n\n'],
  ["id: 1\ndata: \n\n"],
  ["event: message\nid: 1\ndata:\n\n"],
  [":\n\n"],
  ["id:\n\n"],
  ["\n"],
  ["data: {}\r\n\r"],
])("every reader takes %j for the same event", (text) => {
  expect(frames(text)[0].map(({ isPlain }) => isPlain)).toEqual([true]);
});

test.each([
  ["a byte order mark", "\uFEFFid: 1\n\n", "id: 1\n\n"],
  ["one that was decoded wrongly", "\u00ef\u00bb\u00bfdata: {}\n\n", ""],
  ["a CR alone", "id: 1\rretry: 2\r\r", "id: 1\nretry: 2\n\n"],
  ["a CR behind a field", "data:\r{}\n\n", "data: \n\n"],
  ["a field that nobody knows", "datum: {}\n\n", ""],
  ["a field in capital letters", "Data: {}\n\n", ""],
  ["a space before a field", " data: {}\n\n", ""],
  ["a field without a colon", "data\nid: 1\n\n", "id: 1\ndata: \n\n"],
  ["a vertical tab in a comment", ": x\vdata: {}\n\n", ""],
  ["a form feed in a name", "event: x\fdata: {}\ndata: \n\n", "data: \n\n"],
  ["a file separator in an id", "id: x\u001cdata: {}\ndata: \n\n", "data: \n\n"],
  ["a next line in a comment", `:${NEXT_LINE}data: {}\nid: 1\n\n`, "id: 1\n\n"],
  ["a line separator in an id", "id: 1\u2028data: {}\n\n", ""],
  ["a NUL in an id", "id: 1\0\n\n", ""],
  ["bytes that are not UTF-8", Buffer.from(": \xff\nid: 1\n\n", "latin1"), "id: 1\n\n"],
  ["a name without data", "event: endpoint\nid: 1\n\n", "id: 1\n\n"],
  ["a name with empty data", "event: endpoint\ndata:\n\n", "data: \n\n"],
  ["blanks around an id", "id: 1 \n\n", ""],
  ["blanks around a name", "event:  endpoint\t\ndata: \n\n", "data: \n\n"],
  ["two ids", "id: 1\nid: 2\n\n", "id: 2\n\n"],
  ["a time that is not a number", "retry: 1 \nid: 1\n\n", "id: 1\n\n"],
  ["a time that is too long", "retry: 1234567890\n\n", ""],
])("an event that carries nothing and has %s is not sent on as it came", (_, text, left) => {
  const [[frame]] = frames(text);
  expect(frame.data).toBeNull();
  expect(frame.isPlain).toBe(false);
  expect(cleanEvent(frame).toString("utf8")).toBe(left);
});

test.each([
  ["a byte order mark", "\uFEFFdata: {}\n\n"],
  ["a next line", `data: "${NEXT_LINE}"\n\n`],
  ["a line separator", 'data: "\u2028"\n\n'],
  ["a paragraph separator", 'data: "\u2029"\n\n'],
  ["a line that is a message by itself", 'data: {"a":\ndata:  {"b":1} \ndata: }\n\n'],
  ["a line that is a list by itself", "data: [\ndata: []\ndata: ]\n\n"],
])("data with %s is not sent on as it came", (_, text) => {
  expect(frames(text)[0][0].isPlain).toBe(false);
});

test("the data of an event that is not kept is picked out, however it was cut", () => {
  const text = 'id: {"id":1}\r\nevent: message\rdatum: 1\ndata\ndata: {"id":\n:data: no\ndata:7}\n\ndata: 8\n\n';
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (places) => {
      let picked = "";
      const push = pickData((bytes) => (picked += bytes.toString("utf8")));
      const cuts = [0, ...places.sort((one, other) => one - other), text.length];
      for (let nth = 1; nth < cuts.length; nth++) push(Buffer.from(text.slice(cuts[nth - 1], cuts[nth])));
      expect(picked).toBe(' {"id":7} 8');
    }),
  );
});

test.each(["x\r", "x\n", "data:\r", "data:\n", ":\r\n", "id\r"])("a million lines like %j are read at once", (line) => {
  const text = `${line.repeat(1_000_000)}data: 1\n\n`;
  let data = 0;
  const before = performance.now();
  const framer = createEventFramer(20_000_000, {
    event: (frame) => (data += frame.data?.end ?? 0),
    excess: () => {},
    tail: () => {},
  });
  framer.push(Buffer.from(text));
  expect(data).toBeGreaterThan(0);
  expect(performance.now() - before).toBeLessThan(2000);
});

test.each(["x\r\r", "x\n\n", "\r", "x\r\n\r\n"])("a million events like %j are read at once", (event) => {
  let count = 0;
  const before = performance.now();
  const framer = createEventFramer(1000, { event: () => count++, excess: () => {}, tail: () => {} });
  framer.push(Buffer.from(event.repeat(1_000_000)));
  expect(count).toBe(1_000_000);
  expect(performance.now() - before).toBeLessThan(4000);
});

/** Milliseconds that reading one event takes, and by how many bytes the heap was larger at its end. */
function cost(text: string, change: (frame: EventFrame) => unknown = () => {}): { ms: number; heap: number } {
  const bytes = Buffer.from(text, "latin1");
  let heap = 0;
  const framer = createEventFramer(bytes.length, {
    event(frame) {
      change(frame);
      heap = process.memoryUsage().heapUsed;
    },
    excess: () => {},
    tail: () => {},
  });
  const { heapUsed } = settledMemory();
  const started = performance.now();
  framer.push(bytes);
  return { ms: performance.now() - started, heap: heap - heapUsed };
}

const LINES = 400_000;

test.each([
  ["lines of data", "data:x\n"],
  ["lines of data that end with CR", "data:x\r"],
  ["lines of data that end with CRLF", "data:x\r\n"],
  ["comments", ":c\n"],
])("an event of very many %s is read in a time that grows with its length, and costs no object a line", (_, line) => {
  cost(line.repeat(1000) + "\n");
  const { ms, heap } = cost(line.repeat(LINES) + line.slice(line.search(/[\r\n]/)));
  expect(ms).toBeLessThan(1000);
  expect(heap).toBeLessThan(LINES * 50);
});

test("data is replaced in an event of very many lines without an object for each of them", () => {
  const text = "data:x\n:c\n".repeat(LINES) + "\n";
  let replaced = 0;
  const { ms, heap } = cost(text, (frame) => (replaced = replaceData(frame, Buffer.from("new")).length));
  expect(replaced).toBe("data: new\n\n".length + 3 * LINES);
  expect(ms).toBeLessThan(2000);
  expect(heap).toBeLessThan(LINES * 100);
});

test("an event that comes a byte at a time costs no object a byte", () => {
  const framer = createEventFramer(10_000_000, { event: () => {}, excess: () => {}, tail: () => {} });
  const before = settledMemory();
  for (let sent = 0; sent < LINES; sent++) framer.push(Buffer.from("x"));
  const { heapUsed, arrayBuffers } = settledMemory();
  expect(heapUsed - before.heapUsed + arrayBuffers - before.arrayBuffers).toBeLessThan(LINES * 10);
  framer.end();
});
