import type { Span } from "../message/envelope.ts";
import { findMember } from "../message/members.ts";
import { MAX_PAGES } from "../session/catalogue.ts";
import { type Era, VERSION_KEY } from "../session/era.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";

/** Fetches what has to be known before a call can be judged. */
export interface Learner {
  /** Resolves when the tools are known that this turn needs; rejects when they cannot be had. */
  know(turn: Turn): Promise<void>;
  /** The same for an era, with the `_meta` that its requests need. */
  fetch(era: Era, meta: string | null): Promise<void>;
}

/** How a learner is made. */
export interface LearnerOptions {
  readonly session: Session;
  /** For the whole list, all pages. */
  readonly timeoutMs: number;
}

/** Makes a learner. Turns that need the same list wait for one fetch. */
export function createLearner({ session, timeoutMs }: LearnerOptions): Learner {
  const running = new Map<Era, Promise<void>>();

  function fetch(era: Era, meta: string | null): Promise<void> {
    const waiting = running.get(era);
    if (waiting !== undefined) return waiting;
    const fetching = fetchTools(session, era, meta, timeoutMs).finally(() => running.delete(era));
    running.set(era, fetching);
    return fetching;
  }

  return {
    fetch,
    know(turn) {
      const era = turn.opens?.era ?? "stateful";
      return fetch(era, metaOf(turn, era));
    },
  };
}

/** Asks for page after page until the catalogue has them all. Pages are learnt as they pass through the session. */
async function fetchTools(session: Session, era: Era, meta: string | null, timeoutMs: number): Promise<void> {
  const until = session.now() + timeoutMs;
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const left = until - session.now();
    if (left <= 0) throw new Error(`no whole list within ${timeoutMs} ms`);
    const params = composeParams(meta, cursor);
    const before = session.catalogue(era).version;
    const answer = await session.ask({ method: "tools/list", params, era, cursor, timeoutMs: left });
    const { isComplete, isTooLarge, next, version } = session.catalogue(era);
    if (isComplete) return;
    if (isTooLarge) throw new Error("it is too large to be kept");
    if (answer.envelope.kind !== "result") throw new Error("the server answered with an error");
    if (version === before) throw new Error("the server's answer is no list of tools");
    // Undefined when the list changed meanwhile: begin again.
    cursor = next ?? null;
  }
  throw new Error(`more than ${MAX_PAGES} pages`);
}

function composeParams(meta: string | null, cursor: string | null): string {
  const members = [];
  if (meta !== null) members.push(`"_meta":${meta}`);
  if (cursor !== null) members.push(`"cursor":${JSON.stringify(cursor)}`);
  return `{${members.join(",")}}`;
}

/** What a request of the stateless era must say about its sender: what the client itself says. */
function metaOf(turn: Turn, era: Era): string | null {
  const { bytes, envelope } = turn.message;
  if (era === "stateful" || envelope.kind !== "request" || envelope.params === null) return null;
  const meta = findMember(bytes, envelope.params, "_meta");
  if (meta === null) return null;
  const members = META_KEYS.flatMap((key) => {
    const value: Span | null = findMember(bytes, meta, key);
    return value === null ? [] : [`${JSON.stringify(key)}:${bytes.toString("utf8", value.start, value.end)}`];
  });
  return `{${members.join(",")}}`;
}

const META_KEYS = [VERSION_KEY, "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"];
