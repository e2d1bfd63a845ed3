import type { Outcome } from "../action/outcome.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyError } from "../link/http/reply.ts";
import { composeError } from "../message/compose.ts";
import { type Edit, splice } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { spell } from "../message/id.ts";
import { findMember, readString } from "../message/members.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import { createLearner } from "../relay/learn.ts";
import type { Call } from "../session/calls.ts";
import { createCatalogue } from "../session/catalogue.ts";
import type { Exchange } from "../session/exchange.ts";
import { CLOSED } from "./answers.ts";
import { createPostReply, type PostReply } from "./post-reply.ts";
import { answerHere } from "./refusal.ts";
import { createSeat, type Knowledge, type Seat, type SeatOptions } from "./seats.ts";
import type { ServerEnd, ServerListener } from "./server-end.ts";

/** One server process for all requests that belong to no session, as those of 2026-07-28 do. */
export interface Shared {
  post(visit: Visit, body: Buffer): void;
  close(): Promise<void>;
  destroy(): void;
}

/** What the shared server is made of. */
export interface SharedOptions {
  readonly seats: SeatOptions;
  readonly open: (listener: ServerListener, onEnd: () => void) => Promise<ServerEnd>;
}

/** A request on its way: what its sender called it, and who that was. */
interface Asked {
  readonly seat: Seat;
  readonly call: Call;
  readonly reply: PostReply;
  /** The progress token its sender gave it: JSON text, as latin1. */
  readonly token: string | null;
}

/**
 * Many clients, one process. Ids and progress tokens are made unique on the way up and put back on
 * the way down, so that nobody gets another's answer; nothing else of a message changes.
 */
export function createShared({ seats, open }: SharedOptions): Shared {
  const asked = new Map<number, Asked>();
  let counter = 0;
  let server: Promise<ServerEnd> | null = null;
  let current: ServerEnd | null = null;
  let isOver = false;

  // Asks for the tools in its own name; what it learns holds for all.
  const catalogues = { stateful: createCatalogue(seats.now), stateless: createCatalogue(seats.now) };
  const sayUp = (direction: "up" | "down", payload: Buffer): void => {
    if (direction === "up") current?.send(payload, openMessage(whole(payload), "up", "refuse"));
  };
  const unknown = {
    fetch: () => Promise.reject(new Error("not yet")),
    know: () => Promise.reject(new Error("not yet")),
  };
  const asker = createSeat(seats, sayUp, { catalogues, learner: unknown }, 0);
  const learner = createLearner({ session: asker.session, timeoutMs: seats.toolListMs });
  const knowledge: Knowledge = { catalogues, learner };

  function start(): Promise<ServerEnd> {
    server ??= open(listener, () => {
      server = null;
      current = null;
      for (const [number, entry] of asked) giveUp(number, entry);
    }).then(
      (opened) => (current = opened),
      (error: unknown) => {
        server = null;
        throw error;
      },
    );
    return server;
  }

  function giveUp(number: number, { seat, call, reply }: Asked): void {
    asked.delete(number);
    const answer = seat.passage.giveUpOn(call, "up", CLOSED);
    if (answer !== null) reply.answer(call, answer, 502);
  }

  const listener: ServerListener = {
    message(payload, exchange) {
      const message = openMessage(payload, "down", exchange.breaks);
      const number = numberOf(message);
      const entry = number === null ? undefined : asked.get(number);
      if (entry !== undefined && number !== null) return deliver(restore(message, entry), entry, number, exchange);
      const { envelope } = message;
      if (envelope.kind === "request") {
        current?.send(composeError(envelope.id, { code: -32601, message: "Method not found" }), message);
      } else if (envelope.kind === "notification") relate(payload, exchange);
      else void asker.passage.pass(payload, "down", exchange);
    },
    isWaiting: () => false,
    trouble: (kind, text) => seats.witness.trouble(kind, text),
    get isFull() {
      return fullOne() !== null;
    },
    whenReady(resume) {
      const full = fullOne();
      if (full === null) resume();
      else full.whenReady(resume);
    },
  };

  function fullOne(): PostReply | null {
    for (const { reply } of asked.values()) if (reply.isFull) return reply;
    return null;
  }

  /** What names no request can only be meant for the one there is. */
  function relate(payload: Payload, exchange: Exchange): void {
    const [only] = asked;
    if (asked.size === 1) deliver(payload, only[1], only[0], exchange);
    else seats.witness.trouble("http:no-stream", "dropped a notification: it names no request, and there are several");
  }

  function deliver(payload: Payload, entry: Asked, number: number, exchange: Exchange): void {
    const outcome = entry.seat.passage.pass(payload, "down", exchange);
    if (outcome instanceof Promise) void outcome.then((settled) => carryDown(payload, entry, number, settled));
    else carryDown(payload, entry, number, outcome);
  }

  function carryDown(payload: Payload, { call, reply }: Asked, number: number, { onward, turns }: Outcome): void {
    if (onward === "nothing") return;
    const bytes = onward === "untouched" ? payload.bytes.subarray(payload.start, payload.end) : onward;
    const turn = turns?.[0];
    if (turn?.answers !== call) return reply.send(bytes);
    asked.delete(number);
    reply.answer(call, bytes, statusFor(turn.message));
  }

  function carryUp(visit: Visit, seat: Seat, body: Buffer, outcome: Outcome): void {
    const { onward, turns = [] } = outcome;
    if (onward === "nothing" || turns.length !== 1) return answerHere(visit, outcome);
    const [{ opens: call, message: judged }] = turns;
    if (call === undefined) {
      replyEmpty(visit.response, 202, []);
      // A cancellation by name has no meaning here: a request is cancelled by leaving it.
      const { envelope } = judged;
      if (envelope.kind !== "notification" || envelope.method.name === "notifications/cancelled") return;
      return current?.send(body, judged);
    }
    const message = onward === "untouched" ? judged : openMessage(whole(onward), "up", "allow");
    const number = ++counter;
    const onGone = (): void => {
      asked.delete(number);
      seat.session.calls.up.close(call);
      const notice = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${number}}}`;
      sayUp("up", Buffer.from(notice));
    };
    const reply = createPostReply({ visit, calls: [call], headers: [], onGone });
    const { payload, token } = rename(message, number);
    asked.set(number, { seat, call, reply, token });
    current?.send(payload, message);
  }

  return {
    post(visit, body) {
      const { head } = visit;
      const mirrored = { version: head.protocolVersion, method: head.mcpMethod, name: head.mcpName };
      const exchange = { breaks: "allow", routed: true, mirrored, resumed: false } as const;
      const go = (): void => {
        if (visit.response.destroyed || isOver) return;
        const seat = createSeat(seats, sayUp, knowledge, 0);
        const outcome = seat.passage.pass(whole(body), "up", exchange);
        if (outcome instanceof Promise) void outcome.then((settled) => carryUp(visit, seat, body, settled));
        else carryUp(visit, seat, body, outcome);
      };
      if (current !== null) return current.isFull ? current.whenReady(go) : go();
      start().then(go, (error: unknown) => {
        seats.witness.trouble("http:no-server", error instanceof Error ? error.message : String(error));
        replyError(visit.response, 502, { code: -32000, message: "The server could not be started" }, null);
      });
    },
    async close() {
      isOver = true;
      for (const [number, entry] of asked) giveUp(number, entry);
      await current?.close();
    },
    destroy() {
      isOver = true;
      current?.destroy();
    },
  };
}

/** The number we gave the request that a message of the server's is about. */
function numberOf(message: Message): number | null {
  const { bytes, envelope } = message;
  if (envelope.kind === "result" || envelope.kind === "error") {
    return envelope.id !== null && envelope.id.quoted === null ? Number(envelope.id.key) : null;
  }
  if (envelope.kind !== "notification") return null;
  const span = tokenOf(message) ?? subscriptionOf(message);
  if (span === null) return null;
  const number = Number(readString(bytes, span) ?? bytes.toString("latin1", span.start, span.end));
  return Number.isSafeInteger(number) ? number : null;
}

/** Gives a request a number of ours in place of its id and of its progress token. */
function rename(message: Message, number: number): { payload: Buffer; token: string | null } {
  const { bytes, start, end } = message;
  const edits: Edit[] = [];
  const by = Buffer.from(String(number));
  const id = findMember(bytes, rootOf(message), "id");
  if (id !== null) edits.push({ span: id, by });
  const token = tokenOf(message);
  if (token !== null) edits.push({ span: token, by });
  edits.sort((one, other) => one.span.start - other.span.start);
  const text = token === null ? null : bytes.toString("latin1", token.start, token.end);
  return { payload: splice({ ...message, start, end }, edits), token: text };
}

/** Puts back what the sender of a request called it. */
function restore(message: Message, { call, token }: Asked): Payload {
  const { envelope } = message;
  const edits: Edit[] = [];
  const put = (span: Span | null, text: string | null): void => {
    if (span !== null && text !== null) edits.push({ span, by: Buffer.from(text, "latin1") });
  };
  if (envelope.kind === "notification") {
    put(envelope.method.name === "notifications/progress" ? tokenOf(message) : null, token);
    put(subscriptionOf(message), spell(call.id));
  } else put(findMember(message.bytes, rootOf(message), "id"), spell(call.id));
  edits.sort((one, other) => one.span.start - other.span.start);
  return whole(splice(message, edits));
}

/** A request's progress token, or that of a notification of progress. */
function tokenOf({ bytes, envelope }: Message): Span | null {
  if (!("params" in envelope) || envelope.params === null) return null;
  if (envelope.kind === "notification") {
    return envelope.method.name === "notifications/progress"
      ? findMember(bytes, envelope.params, "progressToken")
      : null;
  }
  const meta = findMember(bytes, envelope.params, "_meta");
  return meta === null ? null : findMember(bytes, meta, "progressToken");
}

function subscriptionOf({ bytes, envelope }: Message): Span | null {
  if (envelope.kind !== "notification" || envelope.params === null) return null;
  const meta = findMember(bytes, envelope.params, "_meta");
  return meta === null ? null : findMember(bytes, meta, "io.modelcontextprotocol/subscriptionId");
}

function rootOf({ bytes, start, end }: Message): Span {
  return { start: bytes.indexOf("{", start), end };
}

/** The HTTP status that goes with an answer. */
function statusFor({ bytes, envelope }: Message): number {
  if (envelope.kind !== "error") return 200;
  const span = findMember(bytes, envelope.error, "code");
  const code = span === null ? 0 : Number(bytes.toString("latin1", span.start, span.end));
  if (code === -32601) return 404;
  return code === -32600 || code === -32700 || (code <= -32020 && code >= -32022) ? 400 : 200;
}
