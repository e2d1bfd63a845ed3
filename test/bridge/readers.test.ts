import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Writable } from "node:stream";
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createSeat } from "../../src/bridge/seats.ts";
import { bodiesFor } from "../../src/bridge/server-end.ts";
import { createStreamBack, frameMessage } from "../../src/bridge/stream-back.ts";
import { createLog } from "../../src/record/log/log.ts";
import { createReporter } from "../../src/record/log/report.ts";
import { createWitness } from "../../src/record/witness.ts";
import type { EventFrame } from "../../src/wire/event-fields.ts";
import { testSeed } from "../fuzz/random.ts";
import { LINE_READERS, type ReadEvent, type Reader, READERS } from "../support/readers.ts";
import { runs } from "../support/runs.ts";

// Every event stream that leaves must be read alike by every reader: what one of them takes for a message and we do not
// was never judged.

/** A planted bug: takes more events for plain than are. */
const planted = vi.hoisted(() => ({ isPlain: (frame: EventFrame): boolean => frame.isPlain, escapes: true }));

vi.mock(import("../../src/wire/event-fields.ts"), async (load) => {
  const real = await load();
  return {
    ...real,
    readEvent(...args) {
      const frame = real.readEvent(...args);
      return planted.isPlain(frame) ? { ...frame, isPlain: true } : frame;
    },
  };
});

vi.mock(import("../../src/message/flatten.ts"), async (load) => {
  const real = await load();
  return { ...real, escapeBreaks: (message) => (planted.escapes ? real.escapeBreaks(message) : message) };
});

afterEach(() => {
  planted.isPlain = ({ isPlain }) => isPlain;
  planted.escapes = true;
});

const reporter = createReporter(createLog({ write: () => {} }), () => 0);
const witness = createWitness({ reporter, audit: null, auditAll: false, time: () => 0, now: () => 0 });
const seats = {
  rulebook: { current: { policy: { tools: null }, chain: null, observe: false } },
  witness,
  maxOpenCalls: 1000,
  maxParkedBytes: 1_000_000,
  toolListMs: 1000,
  onLearnt: () => {},
  now: () => 0,
};

const ENDPOINT = "/messages?sessionId=ours";

/** What left of a stream, write by write, and the messages in it that were let through. */
function relay(pieces: readonly Buffer[]): { writes: Buffer[]; passed: unknown[] } {
  const writes: Buffer[] = [];
  const passed: unknown[] = [];
  const response = new Writable({
    write(chunk: Buffer, _, done) {
      writes.push(Buffer.from(chunk));
      done();
    },
  });
  const { session, passage } = createSeat(seats, () => {});
  let isTold = false;
  const stream = createStreamBack({
    response: response as ServerResponse,
    seat: {
      session,
      passage: {
        ...passage,
        pass(payload, direction, exchange) {
          const outcome = passage.pass(payload, direction, exchange);
          const text = payload.bytes.toString("utf8", payload.start, payload.end);
          if (!(outcome instanceof Promise) && outcome.onward !== "nothing") passed.push(JSON.parse(text));
          return outcome;
        },
      },
    },
    exchange: bodiesFor([]),
    calls: [],
    maxMessageBytes: 100_000,
    answerServer: () => {},
    endpoint() {
      if (isTold) return null;
      isTold = true;
      return Buffer.from(`event: endpoint\ndata: ${ENDPOINT}\n\n`);
    },
  });
  for (const piece of pieces) stream.push(piece);
  stream.end();
  return { writes, passed };
}

/** The messages that a reader finds, and the places where it is told to send its own. */
function sortOut(events: readonly ReadEvent[]): { messages: unknown[]; endpoints: string[] } {
  const messages: unknown[] = [];
  const endpoints: string[] = [];
  for (const { name, data } of events) {
    if (name === "endpoint") endpoints.push(data);
    try {
      const value: unknown = JSON.parse(data);
      if (typeof value === "object" && value !== null) messages.push(value);
    } catch {
      // It is not a message for this reader either.
    }
  }
  return { messages, endpoints };
}

/** What a reader gets to see that was not meant for it, or does not get to see. Null where there is nothing. */
function complain(pieces: readonly Buffer[], readers = READERS, lineReaders = LINE_READERS): string | null {
  const { writes, passed } = relay(pieces);
  const wanted = passed.map((value) => JSON.stringify(value));
  for (const [title, read] of Object.entries(readers)) {
    const { messages, endpoints } = sortOut(read(writes));
    const found = messages.map((value) => JSON.stringify(value));
    if (found.join("\n") !== wanted.join("\n")) {
      return `${title} read ${found.join(" ")} where ${wanted.join(" ")} passed, in ${shown(writes)}`;
    }
    if (endpoints.some((place) => place !== ENDPOINT) || endpoints.length > 1) {
      return `${title} was sent to ${endpoints.join(" ")}, in ${shown(writes)}`;
    }
  }
  for (const [title, read] of Object.entries(lineReaders)) {
    const more = sortOut(read(writes)).messages.map((value) => JSON.stringify(value));
    const extra = more.find((text) => !wanted.includes(text));
    if (extra !== undefined) return `${title} read ${extra}, in ${shown(writes)}`;
  }
  return null;
}

function shown(writes: readonly Buffer[]): string {
  return JSON.stringify(writes.map((each) => each.toString("latin1")));
}

const MESSAGE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"nth":#}}';
const QUESTION = '{"jsonrpc":"2.0","id":#,"method":"sampling/createMessage","params":{}}';
const INNER =
  '{"jsonrpc":"2.0","method":"notifications/x","params":\ndata: {"jsonrpc":"2.0","method":"notifications/y"}\ndata: }';
const atoms = [
  [8, `data: ${MESSAGE}\n\n`],
  [4, `data: ${QUESTION}\n\n`],
  [3, `event: message\r\nid: #\r\ndata: ${MESSAGE}\r\n\r\n`],
  [3, MESSAGE],
  [3, QUESTION],
  [3, "data: "],
  [2, "data:"],
  [1, "data"],
  [1, " data: "],
  [1, "Data: "],
  [1, "datum: "],
  [1, `data: ${INNER}\n\n`],
  [1, `data: {"jsonrpc":"2.0",\ndata: "method":"notifications/z"}\n\n`],
  [1, `data: {"jsonrpc":"2.0","method":"notifications/é\u{1f600}","params":{"t":"a\u2028\u2028data: b\u0085"}}\n\n`],
  [1, 'data: {"t":"\u2028\u2028event: endpoint\u2028data: /evil\u2028\u2028"}\n\n'],
  [
    1,
    'data: {"jsonrpc":"2.0","method":"x","params":{"t":"\u0085\u0085event: endpoint\u0085data: /evil\u0085\u0085"}}\n\n',
  ],
  [2, "event: message"],
  [1, "event: endpoint"],
  [1, "event: endpoint\ndata: /evil\n\n"],
  [2, "id: #"],
  [1, "retry: 10"],
  [2, ": c"],
  [1, ":"],
  [1, " "],
  [4, "\n"],
  [4, "\n\n"],
  [2, "\r"],
  [2, "\r\n"],
  [1, "\r\r"],
  [1, "\r\n\r\n"],
  [1, "\v"],
  [1, "\f"],
  [1, "\u001c"],
  [1, "\u001e\u001e"],
  [1, "\u0085"],
  [1, "\u2028"],
  [1, "\u2029\u2029"],
  [1, "\0"],
  [1, "\uFEFF"],
  [1, "\u00ef\u00bb\u00bf"],
  [1, "x".repeat(300)],
] as const;

/** Streams that are put together of what readers disagree on, cut anywhere. */
const streams = fc
  .tuple(
    fc.array(
      fc.oneof(...atoms.map(([weight, text]) => ({ weight, arbitrary: fc.constant<string | number>(text) })), {
        weight: 1,
        arbitrary: fc.constantFrom<string | number>(0x85, 0xff, 0xc3, 0xe2, 0xef),
      }),
      { minLength: 1, maxLength: 14 },
    ),
    fc.array(fc.nat(1000), { maxLength: 4 }),
  )
  .map(([parts, cuts]) => {
    const bytes = Buffer.concat(
      parts.map((part, nth) =>
        typeof part === "number" ? Buffer.from([part]) : Buffer.from(part.replaceAll("#", String(nth))),
      ),
    );
    const places = [...new Set(cuts.map((place) => place % (bytes.length + 1)))].sort((one, other) => one - other);
    const pieces = [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
    return pieces.filter((piece) => piece.length > 0);
  });

const described = streams.map((pieces) => ({ pieces, toString: () => shown(pieces) }));

/** The first complaint about streams like these; null where there is none. */
function search(seed: number, runs: number, milliseconds: number): string | null {
  const result = fc.check(
    fc.property(described, ({ pieces }) => complain(pieces) === null),
    { seed, numRuns: runs, interruptAfterTimeLimit: milliseconds },
  );
  if (!result.failed || result.counterexample === null) return null;
  const [{ pieces }] = result.counterexample;
  return `${complain(pieces)}\nfrom ${shown(pieces)} (seed ${seed})`;
}

test("every reader finds the messages that passed, and no others", () => {
  const seed = testSeed();
  expect(search(seed, 30_000, 2500), `seed ${seed}`).toBeNull();
});

test("what readers agree on leaves as the very bytes that came, however it is cut", () => {
  const plain = fc.constantFrom(
    `data: ${MESSAGE}\n\n`,
    `data:${MESSAGE}\r\n\r\n`,
    `event: message\nid: #\nretry: 10\n: c\ndata: ${MESSAGE}\n\n`,
    'data: {"jsonrpc":"2.0",\ndata: "method":"notifications/é"}\n\n',
    "id: #\ndata: \n\n",
    ": ping\n\n",
    "\n",
  );
  const stream = fc.tuple(fc.array(plain, { maxLength: 8 }), fc.array(fc.nat(1000), { maxLength: 6 }));
  fc.assert(
    fc.property(stream, ([parts, cuts]) => {
      const bytes = Buffer.from(parts.map((part, nth) => part.replaceAll("#", String(nth))).join(""));
      const places = cuts.map((place) => place % (bytes.length + 1)).sort((one, other) => one - other);
      const pieces = [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
      expect(Buffer.concat(relay(pieces).writes).equals(bytes)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test("a message of ours is one event to every reader", () => {
  const message = Buffer.from('{"jsonrpc":"2.0","method":"x","params":{"t":"a\u2028\u2029\u0085é\u{1f600}"}}');
  for (const read of Object.values(READERS)) {
    expect(sortOut(read([frameMessage(message)])).messages).toEqual([JSON.parse(message.toString("utf8"))]);
  }
});

const has = ({ bytes, start, end }: EventFrame, pattern: RegExp): boolean =>
  pattern.test(bytes.toString("latin1", start, end));

describe("a relay with a bug is found out that", () => {
  const PLANTS: Record<string, (frame: EventFrame) => boolean> = {
    "sends events without data as they came": ({ data }) => data === null,
    "sends events with data as they came": ({ data }) => data !== null,
    "leaves a byte order mark": (frame) => has(frame, /^\xef\xbb\xbf/),
    "leaves a byte order mark that was decoded wrongly": (frame) => has(frame, /^\xc3\xaf\xc2\xbb\xc2\xbf/),
    "leaves a CR alone": (frame) => has(frame, /\r(?!\n)/),
    "leaves fields that it does not know": (frame) => has(frame, /^(?!data|id|event|retry|:)[^\r\n]/m),
    "leaves vertical tabs and form feeds": (frame) => has(frame, /[\v\f]/),
    // oxlint-disable-next-line no-control-regex -- that is what it is about
    "leaves separators of files and records": (frame) => has(frame, new RegExp("[\u001c-\u001e]")),
    "leaves U+0085": (frame) => has(frame, /\xc2\x85/),
    "leaves U+2028 and U+2029": (frame) => has(frame, /\xe2\x80[\xa8\xa9]/),
    "leaves data of which a line is a message by itself": (frame) => has(frame, /^data: \{.*\}$/m),
    "leaves a name without data": ({ data, name }) => data === null && name !== null,
    "leaves a field without a colon": (frame) => has(frame, /^data$/m),
  };

  test.each(Object.entries(PLANTS))("%s", (_, plant) => {
    planted.isPlain = plant;
    expect(search(1, 60_000, 20_000)).not.toBeNull();
  });

  test("does not escape what ends lines elsewhere", () => {
    planted.escapes = false;
    expect(search(1, 60_000, 20_000)).not.toBeNull();
  });
});

const PEERS = join(import.meta.dirname, "../peers/package.json");
const areInstalled = existsSync(join(PEERS, "../node_modules/@modelcontextprotocol/sdk"));
const load = createRequire(PEERS) as (name: string) => Record<string, unknown>;

/** The transports of the official SDKs, as far as they are used here. */
interface Transport {
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
}
type TransportClass = new (url: URL, options: object) => Transport;

const LAST = { jsonrpc: "2.0", id: "last", result: {} };

/** What a client of an SDK hears on a stream that arrives in these pieces. */
async function hear(Client: TransportClass, pieces: readonly Buffer[], isOlder: boolean): Promise<unknown[]> {
  const heard: unknown[] = [];
  const first = isOlder ? [Buffer.from(`event: endpoint\ndata: ${ENDPOINT}\n\n`)] : [];
  const body = (): ReadableStream =>
    new ReadableStream({
      start(controller) {
        for (const piece of [...first, ...pieces]) controller.enqueue(new Uint8Array(piece));
        controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(LAST)}\n\n`));
        if (!isOlder) controller.close();
      },
    });
  const fetch = async (_: unknown, { method = "GET" }: RequestInit = {}): Promise<Response> =>
    (method === "GET") === isOlder
      ? new Response(body(), { headers: { "Content-Type": "text/event-stream" } })
      : new Response(null, { status: isOlder ? 202 : 405 });
  const transport = new Client(new URL("http://127.0.0.1:1/mcp"), { fetch, eventSourceInit: { fetch } });
  const isOver = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the last message was not heard")), 2000);
    const onmessage = (message: unknown): void => {
      if (JSON.stringify(message) !== JSON.stringify(LAST)) return void heard.push(message);
      clearTimeout(timer);
      resolve();
    };
    Object.assign(transport, { onmessage });
  });
  await transport.start();
  if (!isOlder) await transport.send({ jsonrpc: "2.0", id: "last", method: "ping" });
  try {
    await isOver;
  } finally {
    await transport.close();
  }
  return heard;
}

describe.skipIf(!areInstalled)("what left is read alike by", () => {
  test("eventsource-parser", () => {
    const { createParser } = load("eventsource-parser") as {
      createParser: (options: object) => { feed(text: string): void };
    };
    const read: Reader = (pieces) => {
      const events: ReadEvent[] = [];
      const decoder = new TextDecoder();
      const parser = createParser({
        onEvent: ({ event, data }: { event?: string; data: string }) => events.push({ name: event ?? "message", data }),
      });
      for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
      return events;
    };
    const seed = testSeed();
    const check = fc.property(described, ({ pieces }) => {
      expect(complain(pieces, { "eventsource-parser": read }, {})).toBeNull();
    });
    fc.assert(check, { seed, numRuns: runs(10_000), interruptAfterTimeLimit: 800 });
    planted.isPlain = ({ data }) => data === null;
    expect(() => fc.assert(check, { seed: 1, numRuns: runs(20_000) })).toThrow("Property failed");
  });

  const CLIENTS: [string, () => TransportClass, boolean][] = [
    [
      "SDK v1",
      () =>
        load("@modelcontextprotocol/sdk/client/streamableHttp.js")["StreamableHTTPClientTransport"] as TransportClass,
      false,
    ],
    [
      "SDK v1, HTTP+SSE",
      () => load("@modelcontextprotocol/sdk/client/sse.js")["SSEClientTransport"] as TransportClass,
      true,
    ],
    ["SDK v2", () => load("@modelcontextprotocol/client")["StreamableHTTPClientTransport"] as TransportClass, false],
    ["SDK v2, HTTP+SSE", () => load("@modelcontextprotocol/client")["SSEClientTransport"] as TransportClass, true],
  ];

  test.each(CLIENTS)("the client of %s", async (_, find, isOlder) => {
    const Client = find();
    const seed = testSeed();
    const check = fc.asyncProperty(described, async ({ pieces }) => {
      const { writes, passed } = relay(pieces);
      // Clients leave alone what has another name than "message".
      const names = READERS["the standard"](writes).filter(({ name }) => name !== "endpoint");
      const wanted = passed.filter((__, nth) => names[nth].name === "message");
      const withoutEndpoint = writes.filter((each) => !each.includes(ENDPOINT));
      expect(await hear(Client, withoutEndpoint, isOlder)).toEqual(wanted);
    });
    await fc.assert(check, { seed, numRuns: runs(1000), interruptAfterTimeLimit: 800 });
    // A byte order mark that was decoded wrongly is only skipped where a stream begins: there the older transport has its endpoint.
    if (isOlder) return;
    planted.isPlain = ({ data }) => data === null;
    await expect(fc.assert(check, { seed: 1, numRuns: runs(5000) })).rejects.toThrow("Property failed");
  });
});
