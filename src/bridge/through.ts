import type { ServerResponse } from "node:http";
import type { Outcome } from "../action/outcome.ts";
import type { Visit } from "../link/http/door.ts";
import { endWith, replyError, replyJson } from "../link/http/reply.ts";
import type { Address } from "../link/upstream/address.ts";
import { headersBack, kindOf } from "../link/upstream/head.ts";
import type { Pool, UpstreamCall } from "../link/upstream/pool.ts";
import { type Message, whole } from "../message/message.ts";
import { passOn } from "../relay/pass-on.ts";
import type { Call } from "../session/calls.ts";
import type { Exchange } from "../session/exchange.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { isListening, TOOLS_CHANGED, toolsChangedFor } from "./announce.ts";
import { CLOSED } from "./answers.ts";
import { createBodyCollector, isRedirect, judgeBody } from "./body-back.ts";
import type { WatchedCalls } from "./event-trail.ts";
import type { Guest, GuestBook } from "./guest-book.ts";
import { exchangeFor, mirrorHeaders } from "./mirror.ts";
import { answerHere, forget, NO_SESSION, NOT_ALLOWED, readMessage } from "./refusal.ts";
import { BODIES, bodiesFor, callsOf } from "./server-end.ts";
import { createStreamBack, frameMessage, type StreamBack } from "./stream-back.ts";

/** A way through for clients of Streamable HTTP to a server of Streamable HTTP. */
export interface Through {
  visit(visit: Visit): void;
  /** Tells clients that the tools are others from now on. */
  announce(): void;
  /** Ends the streams. Whoever still waits is told. */
  close(): void;
}

/** What a way through is made of. */
export interface ThroughOptions {
  readonly pool: Pool;
  readonly address: Address;
  readonly guests: GuestBook;
  /** Header lines for every request to the server. */
  readonly headers: string;
  readonly maxMessageBytes: number;
  /** Whether the server is still there, when something of it broke off. */
  readonly isThere: () => Promise<boolean>;
  /** What a header of the server's becomes for clients; null where it is not for them. */
  readonly rewrite: (visit: Visit, name: string, value: string) => string | null;
}

/**
 * Requests, status, headers and framing pass as they are; every message in them is judged. Sessions
 * are the server's own: their ids pass too, and so does everything about resuming streams.
 */
export function createThrough(options: ThroughOptions): Through {
  const { pool, address, guests, headers, maxMessageBytes, isThere, rewrite } = options;

  const running = new Set<() => void>(); // what ends the requests that are on their way
  const standing = new Set<() => void>(); // what tells those who stand and listen that the tools have changed

  function path({ query }: Visit): string {
    return query === "" || address.path.includes("?") ? address.path : address.path + query;
  }

  function post(visit: Visit): void {
    const { head, response } = visit;
    readMessage(visit, maxMessageBytes, (body) => {
      const guest = guests.find(visit);
      if (guest === null) return replyError(response, 404, NO_SESSION, null);
      const exchange = exchangeFor(head);
      passOn(guest.seat.passage, whole(body), "up", exchange, (outcome) => carry(visit, guest, body, outcome));
    });
  }

  function carry(visit: Visit, guest: Guest, body: Buffer, outcome: Outcome): void {
    const { onward, back, turns = [] } = outcome;
    if (onward === "nothing") return answerHere(visit, outcome);
    const calls = callsOf(turns);
    // It left while its request was held here: nobody is there for the answer.
    if (visit.response.destroyed && calls.length > 0) return forget(guest.seat, calls);
    // What only had to wait is what it was.
    if (onward === "untouched" || onward.equals(body))
      return send(visit, guest, body, calls, bodiesFor(calls), back, visit.head.onward);
    const lines = turns.length === 1 ? mirrorAnew(visit.head.onward, guest, turns[0].message) : visit.head.onward;
    send(visit, guest, onward, calls, bodiesFor(calls), back, lines);
  }

  /** Sends a request on, and what comes back to the client. */
  function send(
    visit: Visit,
    guest: Guest,
    body: Buffer | null,
    calls: readonly Call[],
    exchange: Exchange,
    also: Buffer | null,
    lines: string,
    watched: WatchedCalls | null = null,
  ): void {
    const { response } = visit;
    const { seat } = guest;
    for (const each of calls) guest.trail.use(each.id.key);
    let stream: StreamBack | null = null;
    let answered: ResponseHead | null = null;
    const collector = createBodyCollector(maxMessageBytes);
    let isGone = false;

    const call: UpstreamCall = pool.send(
      { method: visit.method, path: path(visit), headers: lines + headers, body },
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
          stream = createStreamBack(watched === null ? parts : { ...parts, watched });
          // What was refused of a batch: the server has not seen it, and answers only the rest.
          if (also !== null) stream.write(frameMessage(also));
        },
        body(bytes) {
          if (stream === null) return collector.push(bytes);
          stream.push(bytes);
          if (!stream.isFull()) return;
          call.pause();
          stream.whenReady(() => call.resume());
        },
        done() {
          if (stream !== null) stream.end();
          else if (answered !== null) giveBody(answered);
          isGone = true;
        },
        failed() {
          isGone = true;
          if (stream !== null) void breakOff(stream);
          else giveUp(502);
        },
      },
    );
    // Nobody waits for the end of such streams.
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
      else giveUp(503);
    };
    if (!response.destroyed) running.add(leave);
    response.on("close", () => running.delete(leave));

    function giveUp(status: number): void {
      const answers = calls.flatMap((each) => seat.passage.giveUpOn(each, "up", CLOSED) ?? []);
      if (also !== null) answers.push(also);
      if (answers.length === 0) replyError(response, status, CLOSED, null);
      else replyJson(response, status, answers.reduce(merge), []);
    }

    /** Nobody can take up again what a server has begun that is gone. */
    async function breakOff(broken: StreamBack): Promise<void> {
      if (calls.length === 0 || !broken.isResumable || (await isThere())) broken.end();
      else broken.end("for good");
    }

    function giveBody(head: ResponseHead): void {
      const { status } = head;
      const collected = collector.end();
      const isEmpty = collected.body !== null && collected.body.length === 0;
      const back = headersBack(head, (name, value) => rewrite(visit, name, value));
      // Where no answer is waited for there is nothing in a body that anybody wants.
      const isTaken = status < 300 && visit.method !== "GET";
      if (calls.length === 0 && !isRedirect(status) && (isEmpty || isTaken)) {
        if (also !== null) return replyJson(response, 200, also, []);
        return giveHead(response, status, isEmpty ? back : keepHeaders(back, (name) => !ABOUT_BODY.test(name)));
      }
      const isJson = kindOf(head) === "json";
      judgeBody(collected, { seat, exchange, calls, status, isJson }, (judged) => {
        const merged = also === null ? judged.body : merge(judged.body, also);
        if (response.headersSent || response.destroyed) return;
        response.writeHead(judged.status, headersFor(judged.origin, back, merged.length));
        endWith(response, merged);
      });
    }

    response.on("close", () => {
      if (isGone) return;
      isGone = true;
      // For the server it is as if the client had gone from it directly.
      call.abort();
      for (const each of calls) {
        if (seat.session.calls.up.find(each.id.key) !== each) continue;
        if (each.era === "stateless") seat.session.calls.up.close(each);
        else seat.session.calls.up.suspend(each);
      }
    });
  }

  return {
    visit(visit) {
      const { method, head, response } = visit;
      if (method === "POST") return post(visit);
      if (method !== "GET" && method !== "DELETE") return replyError(response, 405, NOT_ALLOWED, "GET, POST, DELETE");
      const guest = guests.find(visit);
      if (guest === null) return replyError(response, 404, NO_SESSION, null);
      visit.request.resume();
      const { lastEventId } = head;
      // What the server says unasked answers nothing; a resumed stream answers what it answered before it broke off.
      const watched = lastEventId === null ? null : guest.trail.watch(guest.trail.find(lastEventId));
      response.on("close", () => watched?.end());
      const exchange: Exchange = { ...BODIES, answerable: watched?.calls ?? [], resumed: lastEventId !== null };
      send(visit, guest, null, [], exchange, null, head.onward, watched);
    },
    announce() {
      for (const tell of standing) tell();
    },
    close() {
      for (const leave of running) leave();
    },
  };
}

function giveHead(response: ServerResponse, status: number, headers: string[]): void {
  if (response.headersSent || response.destroyed) return;
  if (status !== 204 && status !== 304) headers.push("Content-Length", "0");
  response.writeHead(status, headers);
  response.end();
}

/** What is said about a body, and does not hold for another. */
const ABOUT_BODY = /^(?:content-.*|etag|last-modified|digest|repr-digest|want-.*digest|accept-ranges|age)$/;
/** What a client has to hear also where the body is ours. All else may say more about the server than we do. */
const WITH_OURS = /^(?:www-authenticate|retry-after|allow|mcp-.*|set-cookie|vary)$/;

/** The headers of a body that is the server's or ours. */
function headersFor(origin: "server" | "changed" | "ours", back: string[], length: number): string[] {
  const size = ["Content-Length", String(length)];
  if (origin === "server") return [...back, ...size];
  const kept = keepHeaders(back, (name) => (origin === "ours" ? WITH_OURS.test(name) : !ABOUT_BODY.test(name)));
  return [...kept, "Content-Type", "application/json", ...size];
}

function keepHeaders(headers: readonly string[], isKept: (name: string) => boolean): string[] {
  return headers.filter((_, index) => isKept(headers[index - (index % 2)].toLowerCase()));
}

function strip(text: string): string {
  return text.trim().replace(/^\[|\]$/g, "");
}

/** Header lines that say what the body says, after that was changed. */
function mirrorAnew(lines: string, { seat }: Guest, message: Message): string {
  const { tools } = seat.session.catalogue("stateless");
  const mirrored = mirrorHeaders(message, (name) => tools.find((tool) => tool.name === name)?.raw ?? null);
  return mirrored === null ? lines : lines.replaceAll(MIRRORED, "") + mirrored;
}

const MIRRORED = /^(?:mcp-(?:method|name|protocol-version|param-[^:]*)):.*\r\n/gim;

/** The answers of a batch: the server's, and ours for what it did not see. */
function merge(body: Buffer, also: Buffer): Buffer {
  const parts = [strip(body.toString("latin1")), strip(also.toString("latin1"))].filter((part) => part !== "");
  return Buffer.from(`[${parts.join(",")}]`, "latin1");
}
