import type { Hosted, HostedOptions } from "./hosted-session.ts";
import { randomBytes } from "node:crypto";
import type { Outcome } from "../action/outcome.ts";
import { admits } from "../link/http/client-head.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyError, replyJson } from "../link/http/reply.ts";
import { answerMemory } from "../link/memory.ts";
import { composeBatch } from "../message/compose.ts";
import { flatten } from "../message/flatten.ts";
import { type Payload, whole } from "../message/message.ts";
import { passOn } from "../relay/pass-on.ts";
import type { Call } from "../session/call.ts";
import type { Turn } from "../session/turn.ts";
import { announce } from "./announce.ts";
import { CLOSED } from "./answers.ts";
import { departureOf } from "./departure.ts";
import { beginStream, type EventStream } from "./event-stream.ts";
import { membersOf, refuseRequests } from "./members.ts";
import { createMessageQueue } from "./message-queue.ts";
import { exchangeFor } from "./mirror.ts";
import { createPassers } from "./passers.ts";
import { createPostReply, type PostReply } from "./post-reply.ts";
import { progressKey } from "./progress-key.ts";
import { answerHere, forget } from "./refusal.ts";
import { createSeat } from "./seats.ts";
import { sendOwn, type ServerEnd, type ServerListener } from "./server-end.ts";

/** Opens a session. Rejects if no server session can be opened. */
export async function openHosted(options: HostedOptions): Promise<Hosted> {
  const { seats, hasOneStream, knowledge: known, owner } = options;
  const id = randomBytes(16).toString("hex");
  const replies = createPassers<Call, PostReply>();
  let standing: EventStream | null = null;
  const queue = createMessageQueue();
  let isOver = false;
  let lastUsed = Date.now();
  let server: ServerEnd | null = null;
  const seat = createSeat(
    seats,
    (direction, payload) => {
      if (direction === "up") sendOwn(server, session, payload);
      else sayDown(payload);
    },
    { known, owner, transport: hasOneStream ? "sse" : "streamable-http", onExhausted: () => void close() },
  );
  const { passage, session } = seat;
  session.mcpSession = id;
  seats.witness.opened(session);

  function carryDown(payload: Payload, { onward, back, turns }: Outcome): void {
    if (back !== null) sendOwn(server, session, back);
    if (onward === "nothing") return;
    // One message per event: a line break inside the message would end the event.
    const message = flatten(onward === "untouched" ? payload : whole(onward));
    if (turns === undefined || turns.length === 0 || hasOneStream) return deliver(message, null);
    if (turns[0].exchange.isMember !== true) return carryOne(message, turns[0]);
    const answered = turns.flatMap((turn) => turn.answers ?? []);
    if (answered.length === turns.length && isOneReply(answered)) return answer(answered, message);
    // A server may answer in one batch requests that came separately. Each response goes to the reply of its own
    // request.
    for (const { bytes, answers } of membersOf(message)) {
      const turn = answers === null ? undefined : turns.find((each) => each.answers?.id.key === answers.key);
      if (turn === undefined) deliver(bytes, null);
      else carryOne(bytes, turn);
    }
  }

  /** Whether the responses to these calls share one reply, because the calls came in one batch. */
  function isOneReply(calls: readonly Call[]): boolean {
    return calls.every((call) => replies.get(call) === replies.get(calls[0]));
  }

  function carryOne(message: Buffer, turn: Turn): void {
    if (turn.answers === undefined) return deliver(message, turn);
    answer([turn.answers], message);
    if (turn.message.envelope.kind !== "result") checkBegun(turn.answers);
  }

  /** Sends a message that the proxy composed. A response goes to the reply of its request. */
  function sayDown(message: Buffer): void {
    const [{ answers }] = membersOf(message);
    const waiting =
      answers === null ? undefined : replies.entries().find(([{ id: asked }]) => asked.key === answers.key);
    if (waiting === undefined) deliver(message, null);
    else answer([waiting[0]], message);
  }

  /** If `initialize` failed, close the session. */
  function checkBegun({ method }: Call): void {
    if (method.name === "initialize" && !hasOneStream) void close();
  }

  /** Sends a message that answers these calls. They came in one request. */
  function answer(calls: readonly Call[], message: Buffer, status = 200): void {
    const reply = replies.get(calls[0]);
    for (const call of calls) replies.delete(call);
    if (hasOneStream) standing?.send(message);
    else reply?.answer(calls, message, status);
  }

  /**
   * Sends a message that is not a response: on the stream of the request it refers to, or else on the standing stream.
   */
  function deliver(message: Buffer, turn: Turn | null): void {
    if (hasOneStream) return standing?.send(message);
    const related = turn === null ? null : relatedTo(turn);
    const reply = related ?? latest();
    if (reply !== null) return reply.send(message);
    if (standing !== null) return standing.send(message);
    if (!queue.add(message))
      seats.witness.trouble("http:no-stream", "dropped a message of the server's: the client has no stream open");
  }

  function latest(): PostReply | null {
    let last: PostReply | null = null;
    for (const [, reply] of replies.entries()) if (reply.canStream) last = reply;
    return last;
  }

  function relatedTo({ message }: Turn): PostReply | null {
    const key = progressKey(message);
    const call = key === null ? undefined : session.calls.up.find(key);
    const reply = call === undefined ? undefined : replies.get(call);
    return reply?.canStream === true ? reply : null;
  }

  const listener: ServerListener = {
    message(payload, exchange) {
      passOn(passage, payload, "down", exchange, (outcome) => carryDown(payload, outcome));
    },
    lost(gist, bytes, exchange) {
      const call = gist.id === null ? undefined : session.callFor(gist.id.key, "down", exchange);
      const { onward, back } = passage.lose(gist, bytes, "down", exchange);
      if (back !== null) sendOwn(server, session, back);
      if (typeof onward === "string" || call === undefined) return;
      answer([call], onward);
      checkBegun(call);
    },
    isWaiting: (call) => session.calls.up.find(call.id.key) === call,
    givenUp: (call) => session.calls.up.spend(call),
    trouble: (kind, text) => seats.witness.trouble(kind, text),
    get isFull() {
      return answerMemory.isShort || fullOne() !== null;
    },
    whenReady(resume) {
      const full = fullOne();
      if (full === null) answerMemory.whenRoom(resume);
      else full.whenReady(() => answerMemory.whenRoom(resume));
    },
  };

  function fullOne(): { whenReady(resume: () => void): void } | null {
    if (standing?.outlet.isFull === true) return standing.outlet;
    return replies.find((reply) => reply.isFull()) ?? null;
  }

  /** Answers all open calls with an error, because the server has ended or the session is being closed. */
  function finish(status = 200): void {
    if (isOver) return;
    isOver = true;
    for (const call of session.calls.up.waiting()) {
      const last = passage.giveUpOn(call, "up", CLOSED);
      if (last !== null) answer([call], last, status);
    }
    for (const [, reply] of replies.entries()) reply.end();
    standing?.end();
    seats.witness.closed(session);
  }

  /** Called when the server ended by itself. */
  function end(): void {
    if (isOver) return;
    finish();
    options.onClosed(id, Promise.resolve());
  }

  function carryUp(visit: Visit, body: Buffer, outcome: Outcome, headers: readonly string[]): void {
    const { onward, back } = outcome;
    // The session ended while a request was held, perhaps as part of a batch.
    const refused =
      isOver && (back === null || onward !== "nothing") ? composeBatch(refuseRequests(body, CLOSED)) : null;
    if (refused !== null) return replyJson(visit.response, 200, refused, []);
    const departure = departureOf(outcome, whole(body), "allow");
    if (departure === null) {
      if (!hasOneStream || back === null || standing === null) return answerHere(visit, outcome);
      standing.send(back);
      return replyEmpty(visit.response, 202, []);
    }
    const { calls } = departure;
    // The client disconnected while its request was held.
    if (visit.response.destroyed && calls.length > 0 && !hasOneStream) return forget(seat, calls);
    if (calls.length === 0 || hasOneStream) {
      replyEmpty(visit.response, 202, headers);
      if (back !== null) standing?.send(back);
    } else {
      const isFirst = headers.length > 0; // the headers contain the session id
      const onGone = (left: ReadonlySet<Call>): void => {
        for (const call of left) {
          replies.delete(call);
          session.calls.up.abandon(call); // its response cannot reach the client any more
          // The client never received the session id, so the session could never be used.
          if (isFirst && !visit.response.headersSent) void close();
        }
      };
      const reply = createPostReply({ visit, calls, headers, onGone });
      for (const call of calls) replies.set(call, reply);
      if (back !== null) reply.send(back);
      // Send the messages that were queued while no stream to the client was open.
      if (reply.canStream) for (const message of queue.take()) reply.send(message);
    }
    server?.send(departure.bytes, departure.about, calls);
  }

  server = await options.open(listener, end).catch((error: unknown) => {
    finish();
    throw error;
  });
  if (hasEnded()) throw new Error("the server ended before the session began");
  return {
    id,
    principal: options.principal,
    get idleSince() {
      return standing === null && replies.size() === 0 ? lastUsed : null;
    },
    announce: () => announce(session, (message) => deliver(message, null)),
    get owes() {
      return hasOneStream && session.calls.up.waiting().length > 0;
    },
    post(visit, body, headers) {
      lastUsed = Date.now();
      const exchange = exchangeFor(visit.head, hasOneStream && standing !== null ? standing.response : visit.response);
      const go = (): void =>
        passOn(passage, whole(body), "up", exchange, (outcome) => carryUp(visit, body, outcome, headers));
      if (server?.isFull) server.whenReady(go);
      else go();
    },
    listen(visit, greeting) {
      const { response, head } = visit;
      if (!admits(head.accept, "text/event-stream")) return replyError(response, 406, NOT_ACCEPTABLE, null);
      if (standing !== null) return replyError(response, 409, CONFLICT, null);
      standing = beginStream(response, [], () => {
        standing = null;
        lastUsed = Date.now();
        if (hasOneStream && !isOver) void close();
      });
      if (greeting !== null) standing.outlet.write(greeting);
      for (const message of queue.take()) standing.send(message);
    },
    close,
    destroy() {
      finish();
      server?.destroy();
    },
  };

  function hasEnded(): boolean {
    return isOver;
  }

  async function close(status?: number): Promise<void> {
    if (isOver) return;
    finish(status);
    const left = server?.close() ?? Promise.resolve();
    options.onClosed(id, left);
    await left;
  }
}

const NOT_ACCEPTABLE = { code: -32000, message: "Not Acceptable: Client must accept text/event-stream" };
const CONFLICT = { code: -32000, message: "Conflict: Only one SSE stream is allowed per session" };
