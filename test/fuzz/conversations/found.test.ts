import { describe, expect, test } from "vitest";
import type { Plan } from "./plan.ts";
import { perform } from "./perform.ts";
import { ask, askAlone, batch, OPEN, reply, used, write } from "./write-plan.ts";

// Conversations that once went wrong, as short as they could be made.

const BATCHES = { revision: "2025-03-26" };

/** Shorter than any time limit of ours that a hang could be mistaken for a wait by. */
const LIMIT_MS = 3000;

const FOUND: Record<string, Plan> = {
  "a session of HTTP+SSE whose server stream broke takes no further request, even while a message is held": write(
    "sse-sse",
    [OPEN, { do: "closeGate" }, { do: "question", where: 0, kind: 0 }, { do: "break", nth: 0 }, OPEN],
  ),
  "the id of a request whose stream broke is not used again: the server may still answer it": write("stdio-http", [
    askAlone("prompts/list"),
    { do: "break", nth: 0 },
    askAlone("ping", used(0)),
    { do: "again", nth: 0, where: 0, spelling: 0, hasId: false },
  ]),
  "the request after a large event is answered on the same connection": write("http-http", [
    OPEN,
    ask("tools/call safe_a"),
    reply(0, { isLarge: true }),
    ask("ping"),
  ]),
  "a server that many share may make texts of the numbers it is given as ids": write("http-stdio", [
    askAlone("ping"),
    reply(0, { spelling: 1 }),
  ]),
  "a server that many share answers under another spelling of an id: the one who asked is told": write("http-stdio", [
    askAlone("ping"),
    reply(0, { spelling: 2 }),
  ]),
  "a server that many share says what cannot be read: the one who asked is told": write("http-stdio", [
    askAlone("ping"),
    reply(0, { kind: "unreadable" }),
  ]),
  "a server that many share answers with a batch: the one who asked is told": write("http-stdio", [
    askAlone("ping"),
    reply(0, { kind: "wrapped" }),
  ]),
  "a call that waits for the tool list is answered when its session ends": write("http-stdio", [
    OPEN,
    { do: "holdOwn" },
    ask("tools/call leaky"),
    { do: "delete", client: 0 },
  ]),
  "so are those that came in a batch with it": write(
    "http-sse",
    [
      OPEN,
      { do: "holdOwn" },
      batch(ask("tools/call secret_a"), ask("resources/read safe_a")),
      { do: "forget", client: 0 },
    ],
    { ...BATCHES, cache: "session" },
  ),
  "what is refused of a batch is answered, also where the server ends while the rest is held": write(
    "stdio-stdio",
    [OPEN, { do: "holdOwn" }, batch(ask("ping"), ask("tools/call secret_a"), ask("ping", used(1))), { do: "die" }],
    BATCHES,
  ),
  "the same before a server at a URL": write(
    "stdio-sse",
    [
      OPEN,
      { do: "holdOwn" },
      batch(ask("ping"), ask("tools/call secret_a"), ask("ping", used(1))),
      { do: "forget", client: 0 },
    ],
    { ...BATCHES, cache: "session" },
  ),
  "what is refused of a batch is answered, also where the server answers the rest with events": write(
    "http-http",
    [OPEN, batch(ask("ping"), ask("tools/call secret_a")), reply(0)],
    BATCHES,
  ),
  "a batch of requests holds up nothing that comes after it": write(
    "stdio-http",
    [OPEN, batch(ask("ping"), ask("ping")), ask("ping")],
    BATCHES,
  ),
  "two requests that a process answers in one batch are answered once each, where they wait": write(
    "http-stdio",
    [OPEN, ask("ping"), ask("ping"), { do: "replyTogether", nth: 0, count: 2 }],
    BATCHES,
  ),
  "an answer in a batch that is refused becomes an error where its request waits, before a process": write(
    "http-stdio",
    [OPEN, ask("ping"), ask("ping"), reply(0, { kind: "wrapped" })],
  ),
  "the same on an event stream": write("http-http", [OPEN, ask("ping"), reply(0, { kind: "wrapped" })]),
  "the same with an id that is a fraction": write("stdio-stdio", [
    OPEN,
    ask("ping"),
    reply(0, { kind: "wrapped", spelling: 5 }),
  ]),
  "a reload after the server is gone does not cut off what the client has not read": write("stdio-sse", [
    OPEN,
    ask("ping"),
    { do: "hold", client: 0, nth: 0 },
    { do: "forget", client: 0 },
    { do: "reload", policy: 1 },
  ]),
  "a call that waits for the tool list is refused when the stream ends by which the list should come": write(
    "http-http",
    [OPEN, { do: "holdOwn" }, ask("tools/call safe_a"), { do: "end", nth: 0 }],
    { cache: "session" },
  ),
  "a call that waits for the tool list has its id to itself, also where the table is full but for it": write(
    "stdio-stdio",
    [
      OPEN,
      ask("ping"),
      ask("ping"),
      { do: "holdOwn" },
      ask("tools/call safe_a"),
      reply(0),
      ask("prompts/list", used(3)),
      { do: "freeOwn" },
      reply(1),
    ],
    { maxOpenCalls: 3 },
  ),
  "the cancellation of such a call ends it here": write(
    "stdio-stdio",
    [
      OPEN,
      ask("ping"),
      ask("ping"),
      { do: "holdOwn" },
      ask("tools/call safe_a"),
      { do: "cancel", client: 0, nth: 2, spelling: 0 },
    ],
    { maxOpenCalls: 3 },
  ),
  "the second of two with the same id in a batch is answered where the first was refused": write(
    "stdio-http",
    [OPEN, batch(ask("tools/call secret_a"), ask("ping", used(1)))],
    BATCHES,
  ),
  "an answer on a resumed stream is not judged as that of an older request with the same id": write("http-http", [
    OPEN,
    ask("ping"),
    { do: "begin", nth: 0 },
    reply(0, { hasId: true }),
    ask("prompts/list", used(1)),
    { do: "resume", client: 0, nth: 0 },
    { do: "leave", client: 0, nth: 0 },
    { do: "again", nth: 1, where: 0, spelling: 0, hasId: false },
  ]),
  "nor on one that was resumed before the id was used again": write("http-http", [
    OPEN,
    ask("ping"),
    { do: "begin", nth: 0 },
    reply(0, { hasId: true }),
    { do: "resume", client: 0, nth: 0 },
    ask("prompts/list", used(1)),
    { do: "leave", client: 0, nth: 0 },
    { do: "again", nth: 1, where: 0, spelling: 0, hasId: false },
  ]),
  "a stream of the stateless era that ends without the answer cannot be resumed: the one who asked is told": write(
    "http-http",
    [askAlone("ping"), { do: "begin", nth: 0 }, { do: "end", nth: 0 }],
  ),
  "nor can one of a server without sessions": write(
    "http-http",
    [OPEN, ask("ping"), { do: "begin", nth: 0 }, { do: "end", nth: 0 }],
    { hasSessions: false },
  ),
};

describe("a conversation that once went wrong", () => {
  test.each(Object.entries(FOUND))("%s", async (_, plan) => {
    const { complaint, trace } = await perform(plan, LIMIT_MS);
    expect(complaint, trace.join("\n")).toBeNull();
  });
});
