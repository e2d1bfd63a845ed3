import { randomBytes } from "node:crypto";
import type { Span } from "../message/envelope.ts";
import { findMember } from "../message/members.ts";
import { describeError } from "../message/wire-errors.ts";
import { MAX_PAGES, type Refusal } from "../session/catalogue.ts";
import { type Era, META_KEYS } from "../message/protocol.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";

/** Fetches what must be known before a call can be judged. */
export interface Learner {
  /** Resolves when everything that this turn needs is known; rejects if the tools cannot be fetched. */
  know(turn: Turn): Promise<void>;
  /** Fetches the tools of an era. `meta` is the `_meta` that its requests need. */
  fetch(era: Era, meta: string | null): Promise<void>;
}

/** Options of a learner. */
export interface LearnerOptions {
  readonly session: Session;
  /** The timeout for the whole list, all pages together. */
  readonly timeoutMs: number;
  /** Whether the server's response for an unknown tool must be known too. */
  readonly mirrors?: () => boolean;
}

/** Makes a learner. Turns that need the same list share one fetch. */
export function createLearner({ session, timeoutMs, mirrors = () => false }: LearnerOptions): Learner {
  const running = new Map<Era, Promise<void>>();
  const asking = new Map<Era, Promise<void>>();

  function mirror(era: Era, meta: string | null): Promise<void> {
    const catalogue = session.catalogue(era);
    const asked = asking.get(era);
    if (asked !== undefined) return asked;
    const answered = askForNothing(session, era, meta, timeoutMs).then((refusal) => catalogue.learnRefusal(refusal));
    asking.set(era, answered);
    return answered.finally(() => asking.delete(era));
  }

  function fetch(era: Era, meta: string | null): Promise<void> {
    const waiting = running.get(era);
    if (waiting !== undefined) return waiting;
    const fetching = fetchTools(session, era, meta, timeoutMs).finally(() => running.delete(era));
    running.set(era, fetching);
    return fetching;
  }

  return {
    fetch,
    async know(turn) {
      const era = turn.opens?.era ?? "stateful";
      const meta = metaOf(turn, era);
      if (!session.catalogue(era).isComplete) await fetch(era, meta);
      if (mirrors() && session.catalogue(era).refusal === undefined) await mirror(era, meta);
    },
  };
}

/**
 * Requests page after page until the catalogue is complete. The session adds each page to the catalogue as it arrives.
 */
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
    if (answer.envelope.kind !== "result") {
      throw new Error(`the server answered with ${describeError(answer) ?? "something else than a result"}`);
    }
    if (version === before) throw new Error("the server's answer is not a list of tools");
    // Undefined if the list changed meanwhile: begin again.
    cursor = next ?? null;
  }
  throw new Error(`more than ${MAX_PAGES} pages`);
}

/** Calls a tool that does not exist. Null if there is no response that can be repeated. */
export async function askForNothing(
  session: Session,
  era: Era,
  meta: string | null,
  timeoutMs: number,
): Promise<Refusal | null> {
  const name = `tool_${randomBytes(8).toString("hex")}`;
  const params = `{"name":"${name}","arguments":{}${meta === null ? "" : `,"_meta":${meta}`}}`;
  try {
    const answer = await session.ask({ method: "tools/call", params, era, cursor: null, timeoutMs });
    const { bytes, envelope } = answer;
    if (envelope.kind !== "result" && envelope.kind !== "error") return null;
    const { start, end } = envelope.kind === "result" ? envelope.result : envelope.error;
    if (end - start > MAX_REFUSAL_BYTES) return null;
    return { name, kind: envelope.kind, text: bytes.toString("utf8", start, end) };
  } catch {
    return null;
  }
}

const MAX_REFUSAL_BYTES = 16_384;

function composeParams(meta: string | null, cursor: string | null): string {
  const members = [];
  if (meta !== null) members.push(`"_meta":${meta}`);
  if (cursor !== null) members.push(`"cursor":${JSON.stringify(cursor)}`);
  return `{${members.join(",")}}`;
}

/** The `_meta` that a request of the stateless era must have: a copy of the client's own. */
function metaOf(turn: Turn, era: Era): string | null {
  const { bytes, envelope } = turn.message;
  if (era === "stateful" || envelope.kind !== "request" || envelope.params === null) return null;
  const meta = findMember(bytes, envelope.params, "_meta");
  if (meta === null) return null;
  const members = SENDER_KEYS.flatMap((key) => {
    const value: Span | null = findMember(bytes, meta, key);
    return value === null ? [] : [`${JSON.stringify(key)}:${bytes.toString("utf8", value.start, value.end)}`];
  });
  return `{${members.join(",")}}`;
}

const SENDER_KEYS = [META_KEYS.protocolVersion, META_KEYS.clientInfo, META_KEYS.clientCapabilities];
