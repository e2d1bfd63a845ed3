// Everything that can grow, and how far. `table.test.ts` compares the lists of `table-*.ts` with the sources: a constant whose
// name begins with MAX_ (or DEFAULT_MAX_) and that is in no list, or in one with another value, is a failure, and the failure
// says which line to add. `docs/limits.md` is made of the lists: npm run test:bounds -- --write
import { M, type Setting } from "./bound.ts";

/** Limits that can be set, with their defaults. */
export const SETTINGS: readonly Setting[] = [
  {
    key: "maxMessageBytes",
    setting: "max_message",
    value: 10 * M,
    what: "bytes of one message",
    past: "the message is refused, and an answer becomes an error for whoever waits",
    tested: ["relay/limits.test.ts", "of exactly the limit is not too large"],
  },
  {
    key: "maxBufferBytes",
    setting: "max_buffer",
    value: 20 * M,
    what: "bytes of a message over that limit that are still followed, to tell whoever waits",
    past: "it is given up before its end",
    tested: ["relay/limits.test.ts", "is answered one byte past the limit"],
  },
  {
    key: "maxDepth",
    setting: "max_depth",
    value: 128,
    what: "levels of nesting in a message",
    past: "the message is refused",
    tested: ["relay/limits.test.ts", "as deep as the limit of %i passes"],
  },
  {
    key: "maxOpenCalls",
    setting: "max_open_calls",
    value: 1000,
    what: "requests of a session that wait for an answer, in each direction",
    past: "the request is refused",
    tested: ["relay/limits.test.ts", "a thousand may wait, and the next is refused"],
  },
  {
    key: "maxParkedBytes",
    setting: "max_parked",
    value: 64 * M,
    what: "bytes of messages of a session that wait to be judged",
    past: "the message is refused",
    tested: ["relay/failure.test.ts", "because too much waits already"],
  },
  {
    key: "maxSessions",
    setting: "max_sessions",
    value: 10_000,
    what: "sessions of clients by HTTP, where the server is at a URL",
    past: "the session used least lately is forgotten, or a new one is refused with 503",
    tested: ["bounds/edges.test.ts", "maxSessions:"],
  },
  {
    key: "maxChildren",
    setting: "max_children",
    value: 64,
    what: "processes, where each session by HTTP has one",
    past: "a new session is refused with 503",
    tested: ["bridge/hosted.test.ts", "there are only so many, those that are ending included"],
  },
  {
    key: "maxConnections",
    setting: "max_connections",
    value: 10_000,
    what: "connections of clients by HTTP, and requests of theirs that are open",
    past: "the connection is closed, the request refused with 503",
    tested: ["link/http/door.test.ts", "only so many may be connected"],
  },
  {
    key: "maxUpstreamConnections",
    setting: "max_upstream_connections",
    value: 10_000,
    what: "requests to a server at a URL that are open, each on a connection of its own",
    past: "the request is refused, by HTTP with 503",
    tested: ["link/upstream/pool.test.ts", "a request fails at once, and it is said why"],
  },
];

export { INPUT } from "./table-input.ts";
export { CACHES, KEPT } from "./table-kept.ts";
export { PLACES } from "./table-places.ts";
export { SHOWN, WAYS } from "./table-plain.ts";
export { WORK } from "./table-work.ts";
