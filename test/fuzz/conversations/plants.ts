import { NOTHING, type Outcome, UNTOUCHED } from "../../../src/action/outcome.ts";
import type { GuestBook } from "../../../src/bridge/guest-book.ts";
import type { Pool } from "../../../src/link/upstream/pool.ts";
import type { Direction, Payload } from "../../../src/message/message.ts";
import type { Decision } from "../../../src/policy/verdict.ts";
import type { Passage, PassageOptions } from "../../../src/relay/passage.ts";
import type { CallTable } from "../../../src/session/calls.ts";
import type { Call } from "../../../src/session/call.ts";
import type { Session } from "../../../src/session/session.ts";

// Bugs planted on purpose. Each takes the place of something that the proxy is made of, and is wrong in one way. Conversations
// that do not find them are not worth much. The first three are bugs that were found by hand before there were conversations.

/** What may be made wrong, and how. */
export interface Plant {
  readonly calls?: (table: CallTable, maxOpenCalls: number) => CallTable;
  readonly pool?: (pool: Pool) => Pool;
  readonly passage?: (passage: Passage, options: PassageOptions) => Passage;
  readonly session?: (session: Session) => Session;
  readonly guests?: (guests: GuestBook) => GuestBook;
  readonly batch?: (outcome: Outcome | Promise<Outcome>) => Outcome | Promise<Outcome>;
  readonly tools?: (decision: Decision) => Decision;
  /** Whether requests that share a process keep their ids. */
  readonly keepsIds?: boolean;
  /** What the conversations say of it. */
  readonly complaint: RegExp;
  /** A seed with which it is found soon, where the first one takes long. `npm run test:full` begins with the first one. */
  readonly seed?: number;
  /** The pair of transports in which it shows soonest. */
  readonly pair: string;
}

const LEAK = /saw what policy keeps from it/;

/** Changes what becomes of a message. */
function meddling(
  meddle: (outcome: Outcome, text: string, direction: Direction) => Outcome,
): Required<Pick<Plant, "passage">> {
  return {
    passage: (passage) => ({
      ...passage,
      pass(payload, direction, exchange) {
        const outcome = passage.pass(payload, direction, exchange);
        return outcome instanceof Promise ? outcome : meddle(outcome, textOf(payload), direction);
      },
    }),
  };
}

/** Every planted bug, by what it does wrong. */
export const PLANTS = {
  "keeps a connection paused that a large event has paused": {
    pool: forgetToResume,
    complaint: /hangs|never answered/,
    pair: "http-http",
  },
  "forgets the ids of cancelled calls when there are as many as there may be calls": {
    calls: forgetWhenFull,
    seed: 9,
    complaint: LEAK,
    pair: "stdio-stdio",
  },
  "goes by the id of a request alone when a stream is resumed": { session: goById, complaint: LEAK, pair: "http-http" },
  "forgets the id of a cancelled call at once": {
    calls: (table) => ({ ...table, abandon: (call) => table.close(call), isSpent: () => false }),
    complaint: /saw what policy keeps|answered a request that was cancelled|answered twice/,
    pair: "stdio-stdio",
  },
  "passes a second answer": {
    ...meddling((outcome, text, direction) =>
      direction === "down" && outcome.onward === "nothing" && /"result":/.test(text)
        ? { ...outcome, onward: "untouched" }
        : outcome,
    ),
    complaint: /saw what policy keeps|answered twice|answered a request that was cancelled/,
    pair: "stdio-stdio",
  },
  "passes an answer under another spelling of its id": {
    ...meddling((outcome) => (isOurs(outcome, "Invalid response") ? { ...outcome, onward: "untouched" } : outcome)),
    complaint: /saw what policy keeps|passed what must not pass/,
    pair: "stdio-stdio",
  },
  "lets go unfiltered after a reload what was asked before it": {
    passage: forgetOnReload,
    complaint: LEAK,
    pair: "stdio-stdio",
  },
  "does not judge what comes after the client has ended its session": {
    guests: openAfterDelete,
    complaint: LEAK,
    pair: "http-http",
  },
  "hands the ids of different clients to one process": {
    keepsIds: true,
    complaint: /hangs|heard|ended without an answer|changed a request|answered/,
    pair: "http-stdio",
  },
  "drops a request where the table is full": {
    ...meddling((outcome) => (outcome.back?.includes("Too many requests") === true ? NOTHING : outcome)),
    complaint: /hangs|never answered|ended without an answer/,
    pair: "stdio-stdio",
  },
  "passes batches without a look at what is in them": {
    batch: (outcome) => (outcome instanceof Promise ? outcome : { ...outcome, onward: "untouched", back: null }),
    complaint: /passed a request that policy forbids|saw what policy keeps/,
    pair: "stdio-stdio",
  },
  "passes calls while the tool list is not known": {
    tools: (decision) => (decision.verdict.do === "park" ? { verdict: { do: "pass" }, rule: null } : decision),
    complaint: /passed a request that policy forbids/,
    pair: "stdio-stdio",
  },
  "takes an answer from any stream": {
    session(session) {
      const { callFor } = session;
      const fromAny: Session["callFor"] = (key, way, exchange) => callFor(key, way, { ...exchange, answerable: null });
      return Object.assign(session, { callFor: fromAny });
    },
    complaint: /answered on another stream|heard the answer|answered twice|saw what policy keeps/,
    pair: "http-http",
  },
  "forgets one of those who wait when the server is gone": {
    passage: (passage) => ({ ...passage, giveUp: (direction, error) => passage.giveUp(direction, error).slice(1) }),
    complaint: /ended without an answer/,
    pair: "stdio-stdio",
  },
  "writes numbers anew": {
    ...meddling((outcome, text) =>
      outcome === UNTOUCHED && text.includes("1.50")
        ? { onward: Buffer.from(text.replace("1.50", "1.5"), "latin1"), back: null }
        : outcome,
    ),
    complaint: /changed/,
    pair: "stdio-stdio",
  },
} satisfies Record<string, Plant>;

/** The connection is kept with the pause that the last response left behind: the next response is not read. */
function forgetToResume(pool: Pool): Pool {
  let paused = 0;
  return {
    ...pool,
    send(request, listener) {
      if (paused > 0) {
        paused--;
        return pool.send(request, { head: () => {}, body: () => {}, done: () => {}, failed: () => {} });
      }
      let isPaused = false;
      const call = pool.send(request, {
        head: (head) => listener.head(head),
        body: (bytes) => listener.body(bytes),
        done() {
          if (isPaused) paused++;
          listener.done();
        },
        failed: (error) => listener.failed(error),
      });
      return {
        abort: () => call.abort(),
        pause() {
          isPaused = true;
          call.pause();
        },
        resume() {
          isPaused = false;
          call.resume();
        },
      };
    },
  };
}

/** Ids of cancelled calls share the places of open ones, and give them up first. */
function forgetWhenFull(table: CallTable, maxOpenCalls: number): CallTable {
  const cancelled = new Set<number | string>();
  return {
    ...table,
    abandon(call) {
      table.close(call);
      cancelled.add(call.id.key);
    },
    isSpent: (key) => cancelled.has(key),
    open(call) {
      if (table.size() + cancelled.size >= maxOpenCalls)
        for (const oldest of [...cancelled].slice(0, 1)) cancelled.delete(oldest);
      return table.open(call);
    },
  };
}

function goById(session: Session): Session {
  const byId = new Map<number | string, Call>();
  const { up } = session.calls;
  const { open } = up;
  Object.assign(up, {
    open(call: Call) {
      byId.set(call.id.key, call);
      return open(call);
    },
  });
  const { callFor } = session;
  return Object.assign(session, {
    callFor: (...[key, direction, exchange]: Parameters<Session["callFor"]>) =>
      exchange.resumed && direction === "down" ? byId.get(key) : callFor(key, direction, exchange),
  });
}

function forgetOnReload(passage: Passage, { rulebook }: PassageOptions): Passage {
  const asked = new Map<string, PassageOptions["rulebook"]["current"]>();
  return {
    ...passage,
    pass(payload, direction, exchange) {
      const [, id] = /"id":([^,]+),/.exec(textOf(payload)) ?? [];
      if (direction === "up" && id !== undefined) asked.set(id, rulebook.current);
      const outcome = passage.pass(payload, direction, exchange);
      if (outcome instanceof Promise || direction === "up" || typeof outcome.onward === "string") return outcome;
      return asked.get(id) === rulebook.current ? outcome : { ...outcome, onward: "untouched" };
    },
  };
}

function openAfterDelete(guests: GuestBook): GuestBook {
  return {
    ...guests,
    heard(visit, guest, head) {
      guests.heard(visit, guest, head);
      if (visit.method === "DELETE" && head.status < 300) Object.assign(guest.seat.passage, { pass: () => UNTOUCHED });
    },
  };
}

/** Whether an error of ours took the place of an answer. */
function isOurs({ onward }: Outcome, words: string): boolean {
  return onward instanceof Buffer && onward.includes(words);
}

function textOf({ bytes, start, end }: Payload): string {
  return bytes.toString("latin1", start, end);
}
