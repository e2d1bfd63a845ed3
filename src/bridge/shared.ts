import type { Outcome } from "../action/outcome.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyError, replyJson } from "../link/http/reply.ts";
import { answerMemory } from "../link/memory.ts";
import { composeError, type WireError } from "../message/compose.ts";
import { findMember } from "../message/members.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import { createLearner } from "../relay/learn.ts";
import { passOn } from "../relay/pass-on.ts";
import type { Call } from "../session/call.ts";
import { createCatalogues } from "../session/catalogue.ts";
import type { Exchange } from "../session/exchange.ts";
import { type Named, numberIn, numberOf, numbersMeant, rename, restore, wantsLog } from "./aliases.ts";
import { isListening, toolsChangedFor } from "./announce.ts";
import { CLOSED, INVALID } from "./answers.ts";
import { exchangeFor } from "./mirror.ts";
import { ownerOf } from "./owner.ts";
import { createPassers } from "./passers.ts";
import { createPostReply, type PostReply } from "./post-reply.ts";
import { answerHere, forget, NO_SERVER } from "./refusal.ts";
import { createSeat, mirrorsServer, type Knowledge, type Seat, type SeatOptions } from "./seats.ts";
import type { ServerEnd, ServerListener } from "./server-end.ts";

/** One server process for all requests that do not belong to a session, as in 2026-07-28. */
export interface Shared {
  post(visit: Visit, body: Buffer): void;
  /** Notifies subscribed clients that the tools have changed. */
  announce(): void;
  close(): Promise<void>;
  destroy(): void;
}

/** Options of the shared server. */
export interface SharedOptions {
  readonly seats: SeatOptions;
  readonly open: (listener: ServerListener, onEnd: () => void) => Promise<ServerEnd>;
  /**
   * How many bytes may wait for one client; a multiple of it is the limit for all. A client that does not read is
   * disconnected, so that the others do not have to wait.
   */
  readonly maxBehindBytes: number;
}

/** A request that was sent to the server, and its client's reply. */
interface Asked extends Named {
  readonly seat: Seat;
  readonly reply: PostReply;
  /** Whether the client asked to receive the server's log messages for this request. */
  readonly wantsLog: boolean;
}

/**
 * Many clients share one process. Ids and progress tokens are made unique on the way to the server and restored on the
 * way back, so that each response reaches the right client; nothing else of a message changes.
 */
export function createShared({ seats, open, maxBehindBytes }: SharedOptions): Shared {
  const asked = createPassers<number, Asked>();
  let counter = 0;
  let server: Promise<ServerEnd> | null = null;
  let current: ServerEnd | null = null;
  let isOver = false;

  // The `asker` seat below fetches the tools, and all clients share the result.
  const catalogues = seats.catalogues ?? createCatalogues(seats.now, seats.keepsTools);
  const sayUp = (direction: "up" | "down", payload: Buffer): void => {
    if (direction === "up") current?.send(payload, openMessage(whole(payload), "up", "refuse"), []);
  };
  const unknown = {
    fetch: () => Promise.reject(new Error("not yet")),
    know: () => Promise.reject(new Error("not yet")),
  };
  const asker = createSeat(seats, sayUp, { known: { catalogues, learner: unknown } });
  const learner = createLearner({
    session: asker.session,
    timeoutMs: seats.toolListMs,
    mirrors: () => mirrorsServer(seats.rulebook.current.policy),
  });
  const knowledge: Knowledge = { catalogues, learner };

  function start(): Promise<ServerEnd> {
    server ??= open(listener, () => {
      server = null;
      current = null;
      for (const [number, entry] of asked.entries()) giveUp(number, entry, 502);
      asker.passage.giveUp("up", CLOSED);
    }).then(
      (opened) => (current = opened),
      (error: unknown) => {
        server = null;
        throw error;
      },
    );
    return server;
  }

  function giveUp(number: number, { seat, call, reply }: Asked, status: number, error = CLOSED): void {
    asked.delete(number);
    const answer = seat.passage.giveUpOn(call, "up", error);
    if (answer !== null) reply.answer([call], answer, status);
  }

  /** Answers requests with an error if their response cannot be forwarded. */
  function disappoint(message: Message): void {
    for (const number of numbersMeant(message)) {
      const entry = asked.get(number);
      if (entry !== undefined) giveUp(number, entry, 200, INVALID);
    }
  }

  const listener: ServerListener = {
    message(payload, exchange) {
      const message = openMessage(payload, "down", exchange.breaks);
      const number = numberOf(message);
      const entry = number === null ? undefined : asked.get(number);
      if (entry !== undefined && number !== null)
        return deliver(restore(message, number, entry), entry, number, exchange);
      const { envelope } = message;
      if (envelope.kind === "request") {
        current?.send(composeError(envelope.id, NOT_FOUND), message, []);
      } else if (envelope.kind === "notification") relate(message, payload, exchange);
      else {
        disappoint(message);
        void asker.passage.pass(payload, "down", exchange);
      }
    },
    lost(gist, bytes, exchange) {
      const number = numberIn(gist.id);
      const entry = number === null || gist.like !== "answer" ? undefined : asked.get(number);
      if (entry === undefined || number === null) {
        const { back } = asker.passage.lose(gist, bytes, "down", exchange);
        if (back !== null) sayUp("up", back);
        return;
      }
      const { onward } = entry.seat.passage.lose({ id: entry.call.id, like: "answer" }, bytes, "down", exchange);
      if (typeof onward === "string") return;
      asked.delete(number);
      entry.reply.answer([entry.call], onward, 200);
    },
    isWaiting: () => false,
    givenUp: () => {},
    trouble: (kind, text) => seats.witness.trouble(kind, text),
    // A client that does not read does not hold up the others as long as there is memory for its unread output.
    get isFull() {
      return answerMemory.isShort;
    },
    whenReady: (resume) => answerMemory.whenRoom(resume),
  };

  /** Disconnects a client that does not read its responses. */
  function checkBehind(reply: PostReply): void {
    if (reply.behind() > maxBehindBytes) {
      seats.witness.trouble("http:slow-reader", "cut off a client that does not read what it asked for");
      return reply.cut();
    }
    let total = 0;
    let worst = reply;
    for (const [, { reply: other }] of asked.entries()) {
      total += other.behind();
      if (other.behind() > worst.behind()) worst = other;
    }
    if (total > maxBehindBytes * MAX_BEHIND) worst.cut();
  }

  /**
   * Handles a message that does not name a request. A log message is forwarded only if exactly one client asked for
   * them.
   */
  function relate({ envelope }: Message, payload: Payload, exchange: Exchange): void {
    const method = "method" in envelope ? envelope.method.name : "";
    if (method === "notifications/tools/list_changed") return void asker.passage.pass(payload, "down", exchange);
    const wanted = asked.entries().filter(([, { wantsLog }]) => wantsLog);
    if (method === "notifications/message" && wanted.length === 1) {
      return deliver(payload, wanted[0][1], wanted[0][0], exchange);
    }
    seats.witness.trouble("http:no-stream", "dropped a notification: it names no request that waits");
  }

  function deliver(payload: Payload, entry: Asked, number: number, exchange: Exchange): void {
    const { passage } = entry.seat;
    passOn(passage, payload, "down", exchange, (outcome) => carryDown(payload, entry, number, outcome));
  }

  function carryDown(payload: Payload, { call, reply }: Asked, number: number, { onward, turns }: Outcome): void {
    if (onward === "nothing") return;
    const bytes = onward === "untouched" ? payload.bytes.subarray(payload.start, payload.end) : onward;
    const turn = turns?.[0];
    if (turn?.answers !== call) {
      reply.send(bytes);
      if (reply.isFull()) checkBehind(reply);
      return;
    }
    asked.delete(number);
    reply.answer([call], bytes, statusFor(turn.message));
  }

  function carryUp(visit: Visit, seat: Seat, body: Buffer, outcome: Outcome): void {
    const { onward, turns = [] } = outcome;
    if (onward === "nothing" || turns.length !== 1) return answerHere(visit, outcome);
    const [{ opens: call, message: judged }] = turns;
    if (call === undefined) {
      replyEmpty(visit.response, 202, []);
      // A cancellation has no meaning here: in this era a client cancels a request by disconnecting.
      const { envelope } = judged;
      if (envelope.kind !== "notification" || envelope.method.name === "notifications/cancelled") return;
      return current?.send(onward === "untouched" ? body : onward, judged, []);
    }
    // The client disconnected, and so cancelled its request, while the request was held.
    if (visit.response.destroyed) return forget(seat, [call]);
    // These methods exist only in the older era. They would change the process for all clients.
    if (OF_THE_OLDER_ERA.has(call.method.name)) return refuse(visit, seat, call, NOT_FOUND, 404);
    // The server ended while the request was held.
    if (current === null) return refuse(visit, seat, call, CLOSED, 502);
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
    asked.set(number, { seat, call, reply, token, wantsLog: wantsLog(message) });
    current.send(payload, message, [call]);
  }

  return {
    post(visit, body) {
      const exchange = exchangeFor(visit.head, visit.response);
      const go = (): void => {
        if (visit.response.destroyed || isOver) return;
        // The request does not belong to a session, so no session is announced to observers. They see that it was
        // judged.
        const seat = createSeat(seats, sayUp, {
          known: knowledge,
          owner: ownerOf(visit),
          transport: "streamable-http",
        });
        passOn(seat.passage, whole(body), "up", exchange, (outcome) => carryUp(visit, seat, body, outcome));
      };
      if (current !== null) return current.isFull ? current.whenReady(go) : go();
      start().then(go, (error: unknown) => {
        seats.witness.trouble("http:no-server", error instanceof Error ? error.message : String(error));
        replyError(visit.response, 502, NO_SERVER, null);
      });
    },
    announce() {
      for (const [, { call, reply }] of asked.entries()) if (isListening(call)) reply.send(toolsChangedFor(call));
    },
    async close() {
      isOver = true;
      for (const [number, entry] of asked.entries()) giveUp(number, entry, 503);
      await current?.close();
    },
    destroy() {
      isOver = true;
      current?.destroy();
    },
  };
}

const NOTHING = Buffer.alloc(0);
const NOT_FOUND = { code: -32601, message: "Method not found" };

/** The limit for all clients, as a multiple of the limit for one. */
const MAX_BEHIND = 4;

const OF_THE_OLDER_ERA = new Set(["initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

function refuse(visit: Visit, { passage }: Seat, call: Call, error: WireError, status: number): void {
  replyJson(visit.response, status, passage.giveUpOn(call, "up", error) ?? NOTHING, []);
}

/** The HTTP status for a response. */
function statusFor({ bytes, envelope }: Message): number {
  if (envelope.kind !== "error") return 200;
  const span = findMember(bytes, envelope.error, "code");
  const code = span === null ? 0 : Number(bytes.toString("latin1", span.start, span.end));
  if (code === -32601) return 404;
  return code === -32600 || code === -32700 || (code <= -32020 && code >= -32022) ? 400 : 200;
}
