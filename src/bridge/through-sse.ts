import { randomBytes } from "node:crypto";
import type { Outcome } from "../action/outcome.ts";
import { withoutResumption } from "../link/http/client-head.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyError } from "../link/http/reply.ts";
import { answerMemory, countIn, readerOf } from "../link/memory.ts";
import type { Address } from "../link/upstream/address.ts";
import { headersBack, kindOf } from "../link/upstream/head.ts";
import type { Pool } from "../link/upstream/pool.ts";
import { whole } from "../message/message.ts";
import { passOn } from "../relay/pass-on.ts";
import { type EventFrame, replaceData } from "../wire/event-fields.ts";
import type { ClientSide, Paths } from "./client-side.ts";
import { announce } from "./announce.ts";
import { CLOSED, failureOf, refusedWith } from "./answers.ts";
import { createBrake } from "./brake.ts";
import { nameOf, ownerOfSession } from "./owner.ts";
import { answerHere, FULL, NO_SESSION, NOT_ALLOWED, noteRefusal, readMessage } from "./refusal.ts";
import { createSeat, type Knowledge, type Seat, type SeatOptions } from "./seats.ts";
import { BODIES } from "./server-end.ts";
import { pathOf } from "./sse-end.ts";
import { createStreamBack, frameMessage, type StreamBack } from "./stream-back.ts";

/** Options of an HTTP+SSE reverse proxy. */
export interface ThroughSseOptions {
  /** The paths for clients. */
  readonly paths: Paths;
  readonly pool: Pool;
  readonly address: Address;
  readonly seats: SeatOptions;
  readonly knowledge: Knowledge | null;
  /** Header lines for every request to the server. */
  readonly headers: string;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  readonly maxSessions: number;
}

/** One client's stream, and the endpoint for its messages. */
interface Passenger {
  readonly seat: Seat;
  readonly principal: string | null;
  readonly visit: Visit;
  stream: StreamBack | null;
  /** The server's path for its messages. */
  endpoint: string | null;
}

/** Forwards the stream with its framing, and judges every message in it. Only the endpoint event is changed. */
export function createThroughSse(options: ThroughSseOptions): ClientSide {
  const { paths, pool, address, seats, knowledge, headers, maxMessageBytes, maxBufferBytes, maxSessions } = options;
  const passengers = new Map<string, Passenger>();

  function send(passenger: Passenger, visit: Visit, body: Buffer, done: (status: number) => void): void {
    let status = 502;
    pool.send(
      {
        method: "POST",
        path: passenger.endpoint ?? "/",
        headers: withoutResumption(visit.head) + headers,
        body,
        client: visit.client,
      },
      {
        head(head) {
          ({ status } = head);
          noteRefusal(seats.witness, visit, passenger.seat.session, status);
        },
        body: () => {}, // responses arrive on the stream
        done: () => done(status),
        failed: (error) => done(failureOf(error).status),
      },
    );
  }

  /**
   * Rewrites the endpoint event so that it names the proxy. Only the first one counts, and it must be on the server's
   * own origin.
   */
  function redirect(id: string, passenger: Passenger, frame: EventFrame): Buffer | null {
    if (passenger.endpoint !== null || frame.data === null) return null;
    const { bytes, start, end } = frame.data;
    passenger.endpoint = pathOf(bytes.toString("utf8", start, end), address);
    if (passenger.endpoint === null) {
      seats.witness.trouble("sse:endpoint", "the server wants messages sent to another origin");
      passenger.visit.response.destroy();
      return null;
    }
    return replaceData(frame, Buffer.from(`${paths.messages}?sessionId=${id}`));
  }

  function carry(passenger: Passenger, visit: Visit, body: Buffer, outcome: Outcome): void {
    const { onward, back, turns = [] } = outcome;
    const { stream, seat } = passenger;
    if (back !== null && stream !== null) stream.write(frameMessage(back));
    if (onward === "nothing") {
      if (back === null || stream === null) answerHere(visit, outcome);
      else replyEmpty(visit.response, 202, []);
      return;
    }
    send(passenger, visit, onward === "untouched" ? body : onward, (status) => {
      replyEmpty(visit.response, status < 300 ? 202 : status, []);
      if (status < 300) return;
      const error = status === 502 ? CLOSED : refusedWith(status);
      for (const call of turns.flatMap((turn) => turn.opens ?? [])) {
        const answer = seat.passage.giveUpOn(call, "up", error);
        if (answer !== null) stream?.write(frameMessage(answer));
      }
    });
  }

  /** Ends a session. It takes no message from now on, even if its stream stays open for a message that is held. */
  function finish(id: string, passenger: Passenger): void {
    passengers.delete(id);
    end(passenger);
  }

  function openStream(visit: Visit): void {
    const { response, method } = visit;
    if (method !== "GET") return replyError(response, 405, NOT_ALLOWED, "GET");
    if (passengers.size >= maxSessions) return replyError(response, 503, FULL, null);
    visit.request.resume();
    const id = randomBytes(16).toString("hex");
    const say = (direction: "up" | "down", payload: Buffer): void => {
      if (direction === "up") send(passenger, visit, payload, () => {});
      else passenger.stream?.write(frameMessage(payload));
    };
    const passenger: Passenger = {
      seat: createSeat(seats, say, {
        known: knowledge,
        owner: ownerOfSession(visit),
        transport: "sse",
        onExhausted: () => finish(id, passenger),
      }),
      principal: nameOf(visit),
      visit,
      stream: null,
      endpoint: null,
    };
    passenger.seat.session.mcpSession = id;
    passengers.set(id, passenger);
    seats.witness.opened(passenger.seat.session);
    const brake = createBrake({ pause: () => call.pause(), resume: () => call.resume() });
    const claim = countIn(answerMemory, { ...readerOf(response), ...brake });
    const weigh = (): void => claim.weigh(passenger.stream?.weight() ?? 0);
    const call = pool.send(
      {
        method: "GET",
        path: address.path,
        headers: withoutResumption(visit.head) + headers,
        body: null,
        client: visit.client,
      },
      {
        head(head) {
          if (kindOf(head) !== "events" || head.status !== 200) {
            call.abort();
            noteRefusal(seats.witness, visit, passenger.seat.session, head.status);
            const status = head.status >= 400 ? head.status : 502;
            return replyError(response, status, refusedWith(head.status), null);
          }
          response.writeHead(
            200,
            headersBack(head, (_, value) => value),
          );
          response.flushHeaders();
          passenger.stream = createStreamBack({
            response,
            seat: passenger.seat,
            exchange: BODIES,
            calls: [],
            maxMessageBytes,
            maxBufferBytes,
            answerServer: (answer) => send(passenger, visit, answer, () => {}),
            endpoint: (frame) => redirect(id, passenger, frame),
          });
        },
        body(bytes) {
          passenger.stream?.push(bytes);
          weigh();
          if (passenger.stream?.isFull() !== true) return;
          brake.pause();
          passenger.stream.whenReady(() => brake.resume());
        },
        done: () => finish(id, passenger),
        failed: () => finish(id, passenger),
      },
    );
    response.on("drain", weigh);
    response.on("close", () => {
      claim.release();
      call.abort();
      passengers.delete(id);
      seats.witness.closed(passenger.seat.session);
    });
  }

  function takeMessage(visit: Visit): void {
    if (visit.method !== "POST") return replyError(visit.response, 405, NOT_ALLOWED, "POST");
    const passenger = passengers.get(new URLSearchParams(visit.query).get("sessionId") ?? "");
    if (passenger === undefined || passenger.principal !== nameOf(visit)) {
      return replyError(visit.response, 404, NO_SESSION, null);
    }
    readMessage(visit, maxMessageBytes, (body) => {
      const { passage } = passenger.seat;
      passOn(passage, whole(body), "up", { ...BODIES, presence: passenger.visit.response }, (outcome) =>
        carry(passenger, visit, body, outcome),
      );
    });
  }

  return {
    visit(visit) {
      if (visit.path === paths.sse) openStream(visit);
      else if (visit.path === paths.messages) takeMessage(visit);
      else return false;
      return true;
    },
    announce() {
      for (const { seat, stream } of passengers.values())
        announce(seat.session, (message) => stream?.write(frameMessage(message)));
    },
    owes: () => [...passengers.values()].some(({ seat }) => seat.session.calls.up.waiting().length > 0),
    close() {
      for (const [id, passenger] of passengers) finish(id, passenger);
      return Promise.resolve();
    },
    destroy: () => {},
  };
}

/** The stream and the session have ended: answers open calls with an error. */
function end({ seat, stream, visit }: Passenger): void {
  if (stream === null) return replyError(visit.response, 502, CLOSED, null);
  for (const answer of seat.passage.giveUp("up", CLOSED)) stream.write(frameMessage(answer));
  stream.end();
}
