import type { ServerResponse } from "node:http";
import type { Outcome } from "../action/outcome.ts";
import { withoutResumption } from "../link/http/client-head.ts";
import type { Visit } from "../link/http/door.ts";
import { endWith, replyError, replyJson } from "../link/http/reply.ts";
import type { Claim } from "../link/budget.ts";
import { answerMemory, MAX_UNCOUNTED_BYTES, unsent } from "../link/memory.ts";
import type { Address } from "../link/upstream/address.ts";
import { headersBack, kindOf } from "../link/upstream/head.ts";
import type { Pool, UpstreamCall } from "../link/upstream/pool.ts";
import { mergeBatches, type WireError } from "../message/compose.ts";
import { type Message, whole } from "../message/message.ts";
import { passOn } from "../relay/pass-on.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { isListening, TOOLS_CHANGED, toolsChangedFor } from "./announce.ts";
import { BUSY, CLOSED, failureOf } from "./answers.ts";
import { createBodyCollector, isRedirect, judgeBody } from "./body-back.ts";
import type { ClientSide } from "./client-side.ts";
import { type Brake, createBrake } from "./brake.ts";
import type { WatchedStream } from "./event-trail.ts";
import type { Guest, GuestBook } from "./guest-book.ts";
import { exchangeFor, mirrorAnew } from "./mirror.ts";
import { answerHere, forget, NO_SESSION, NOT_ALLOWED, readMessage } from "./refusal.ts";
import { bodiesFor, callsOf } from "./server-end.ts";
import { ABOUT_BODY, headersFor, keepHeaders } from "./reply-headers.ts";
import { createStreamBack, frameMessage, type StreamBack } from "./stream-back.ts";

/** Options of a Streamable HTTP reverse proxy. */
export interface ThroughOptions {
  /** The path for clients. */
  readonly path: string;
  readonly pool: Pool;
  readonly address: Address;
  readonly guests: GuestBook;
  /** Header lines for every request to the server. */
  readonly headers: string;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** Whether the server can still be reached. Asked after one of its streams broke. */
  readonly isThere: () => Promise<boolean>;
  /** Rewrites a server's header for clients; null removes it. */
  readonly rewrite: (visit: Visit, name: string, value: string) => string | null;
}

/**
 * Forwards requests, status, headers and framing unchanged, and judges every message in them. The server owns the
 * sessions: session ids and everything about resuming streams are forwarded too.
 */
export function createThrough(options: ThroughOptions): ClientSide {
  const { path: ours, pool, address, guests, headers, maxMessageBytes, maxBufferBytes, isThere, rewrite } = options;

  const running = new Set<() => void>(); // end the requests that are in progress
  const standing = new Set<() => void>(); // send `list_changed` on the streams that listen for it

  function path({ query }: Visit): string {
    return query === "" || address.path.includes("?") ? address.path : address.path + query;
  }

  function post(visit: Visit): void {
    const { head, response } = visit;
    readMessage(visit, maxMessageBytes, (body, onSent) => {
      const guest = guests.find(visit);
      if (guest === null) return replyError(response, 404, NO_SESSION, null);
      const exchange = exchangeFor(head, response);
      passOn(guest.seat.passage, whole(body), "up", exchange, (outcome) => carry(visit, guest, body, onSent, outcome));
    });
  }

  function carry(visit: Visit, guest: Guest, body: Buffer, onSent: () => void, outcome: Outcome): void {
    const { onward, back, turns = [] } = outcome;
    if (onward === "nothing") return answerHere(visit, outcome);
    const calls = callsOf(turns);
    // The client disconnected while its request was held.
    if (visit.response.destroyed && calls.length > 0) return forget(guest.seat, calls);
    if (onward === "untouched" || outcome.isUnchanged === true)
      return send(visit, guest, { body, onSent }, calls, bodiesFor(calls), back, withoutResumption(visit.head));
    const given = withoutResumption(visit.head);
    const lines = turns.length === 1 ? mirrorChanged(given, guest, turns[0].message) : given;
    send(visit, guest, { body: onward, onSent }, calls, bodiesFor(calls), back, lines);
  }

  /** Sends a request to the server, and the response to the client. */
  function send(
    visit: Visit,
    guest: Guest,
    content: { readonly body: Buffer | null; readonly onSent?: () => void },
    calls: readonly Call[],
    exchange: Exchange,
    also: Buffer | null,
    lines: string,
    watched: WatchedStream | null = null,
  ): void {
    const { response } = visit;
    const { seat } = guest;
    for (const each of calls) guest.trail.use(each.id.key);
    let stream: StreamBack | null = null;
    let answered: ResponseHead | null = null;
    const collector = createBodyCollector(maxMessageBytes, maxBufferBytes);
    let isGone = false;
    let brake: Brake | null = null;
    let claim: Claim | null = null; // most responses are too small to be counted

    const call: UpstreamCall = pool.send(
      { method: visit.method, path: path(visit), headers: lines + headers, ...content, client: visit.client },
      {
        head(head) {
          answered = head;
          guests.heard(visit, guest, head);
          if (kindOf(head) !== "events" || head.status >= 300) return;
          const back = headersBack(head, (name, value) => rewrite(visit, name, value));
          response.writeHead(head.status, back);
          response.flushHeaders();
          const answerServer = (answer: Buffer): void => guest.say("up", answer);
          const mayResume = ({ era }: Call): boolean => era === "stateful" && guest.id !== null;
          const { trail } = guest;
          const parts = { response, seat, exchange, calls, maxMessageBytes, answerServer, trail, mayResume };
          response.on("drain", weigh);
          stream = createStreamBack({ ...parts, maxBufferBytes, ...(watched === null ? {} : { watched }) });
          // The refused part of a batch: the server has not received it and answers only the rest.
          if (also !== null) stream.write(frameMessage(also));
        },
        body(bytes) {
          if (stream === null) collector.push(bytes);
          else stream.push(bytes);
          weigh();
          if (collector.isHopeless()) return loseBody();
          if (stream?.isFull() !== true) return;
          const held = (brake ??= createBrake(call));
          held.pause();
          stream.whenReady(held.resume);
        },
        done() {
          if (stream !== null) stream.end();
          else if (answered !== null) giveBody(answered);
          if (stream === null) claim?.release(); // the body that is sent is counted separately
          else weigh();
          isGone = true;
        },
        failed(reason) {
          isGone = true;
          if (stream !== null) return void breakOff(stream);
          const { error, status } = failureOf(reason);
          if (status === 503 && !response.headersSent) response.setHeader("Retry-After", "1");
          giveUp(status, error);
        },
      },
    );
    // These streams stay open, so a shutdown does not wait for them.
    const listens = calls.filter(isListening);
    if (visit.method === "GET" || listens.length > 0) {
      const tell = (): void => {
        if (visit.method === "GET") stream?.write(frameMessage(TOOLS_CHANGED));
        for (const each of listens) stream?.write(frameMessage(toolsChangedFor(each)));
      };
      visit.stands();
      standing.add(tell);
      response.on("close", () => standing.delete(tell));
    }
    const leave = (): void => {
      isGone = true;
      call.abort();
      if (stream !== null) stream.end("for good");
      else giveUp(503, CLOSED);
    };
    if (!response.destroyed) running.add(leave);
    response.on("close", () => running.delete(leave));

    /** Called when the body is too large. It may never end, so the proxy stops reading. */
    function loseBody(): void {
      isGone = true;
      call.abort();
      if (answered !== null) giveBody(answered);
    }

    function weigh(): void {
      const bytes = stream?.weight() ?? collector.weight();
      if (claim === null && bytes <= MAX_UNCOUNTED_BYTES) return;
      brake ??= createBrake(call);
      claim ??= answerMemory.claim({ ...brake, cut, pulse: () => unsent(response) });
      claim.weigh(bytes);
    }

    /** Called when memory is short and this response has not made progress for too long. */
    function cut(): void {
      isGone = true;
      call.abort();
      claim?.release();
      if (stream !== null) response.destroy();
      else giveUp(503, BUSY);
    }

    function giveUp(status: number, error: WireError): void {
      const answers = calls.flatMap((each) => seat.passage.giveUpOn(each, "up", error) ?? []);
      if (also !== null) answers.push(also);
      if (answers.length === 0) replyError(response, status, error, null);
      else replyJson(response, status, answers.reduce(mergeBatches), []);
    }

    /** A stream can only be resumed if its server is still running. */
    async function breakOff(broken: StreamBack): Promise<void> {
      if (calls.length === 0 || !broken.isResumable || (await isThere())) broken.end();
      else broken.end("for good");
    }

    function giveBody(head: ResponseHead): void {
      const { status } = head;
      const collected = collector.end();
      const isEmpty = collected.body !== null && collected.body.length === 0;
      const back = headersBack(head, (name, value) => rewrite(visit, name, value));
      // If no call is open, a body is not needed.
      const isTaken = status < 300 && visit.method !== "GET";
      if (calls.length === 0 && !isRedirect(status) && (isEmpty || isTaken)) {
        if (also !== null) return replyJson(response, 200, also, []);
        return giveHead(response, status, isEmpty ? back : keepHeaders(back, (name) => !ABOUT_BODY.test(name)));
      }
      const isJson = kindOf(head) === "json";
      judgeBody(collected, { seat, exchange, calls, status, isJson }, (judged) => {
        const merged = also === null ? judged.body : mergeBatches(judged.body, also);
        if (response.headersSent || response.destroyed) return;
        response.writeHead(judged.status, headersFor(judged.origin, back, merged.length));
        endWith(response, merged);
      });
    }

    response.on("close", () => {
      claim?.release();
      if (isGone) return;
      isGone = true;
      // For the server this looks as if the client had disconnected from it.
      call.abort();
      for (const each of calls) {
        if (seat.session.calls.up.find(each.id.key) !== each) continue;
        // In 2026-07-28 disconnecting cancels a request. The server may still answer it.
        if (each.era === "stateless") seat.session.calls.up.abandon(each);
        else seat.session.calls.up.suspend(each);
      }
    });
  }

  function take(visit: Visit): void {
    const { method, head, response } = visit;
    if (method === "POST") return post(visit);
    if (method !== "GET" && method !== "DELETE") return replyError(response, 405, NOT_ALLOWED, "GET, POST, DELETE");
    const guest = guests.find(visit);
    if (guest === null) return replyError(response, 404, NO_SESSION, null);
    visit.request.resume();
    const { lastEventId } = head;
    // A standing stream answers no calls; a resumed stream answers the calls it had before it broke.
    const watched = lastEventId === null ? null : guest.trail.resume(lastEventId);
    if (watched !== null) response.on("close", () => watched.end());
    const answerable = watched?.calls ?? [];
    const exchange: Exchange = {
      breaks: "allow",
      routed: false,
      mirrored: null,
      answerable,
      presence: null,
      resumed: watched !== null,
    };
    const lines = method === "GET" ? head.onward : withoutResumption(visit.head);
    send(visit, guest, { body: null }, [], exchange, null, lines, watched);
  }

  return {
    visit(visit) {
      if (visit.path !== ours) return false;
      take(visit);
      return true;
    },
    owes: () => false, // a response arrives on the stream of its request
    announce() {
      for (const tell of standing) tell();
    },
    close() {
      for (const leave of running) leave();
      return Promise.resolve();
    },
    destroy: () => {},
  };
}

function giveHead(response: ServerResponse, status: number, headers: string[]): void {
  if (response.headersSent || response.destroyed) return;
  if (status !== 204 && status !== 304) headers.push("Content-Length", "0");
  response.writeHead(status, headers);
  response.end();
}

/** Header lines that repeat the body, rewritten after the body was changed. */
function mirrorChanged(lines: string, { seat }: Guest, message: Message): string {
  const { tools } = seat.session.catalogue("stateless");
  return mirrorAnew(lines, message, (name) => tools.find((tool) => tool.name === name)?.raw ?? null);
}
