import type { ServerResponse } from "node:http";
import type { Outcome } from "../action/outcome.ts";
import { escapeBreaks, flatten } from "../message/flatten.ts";
import { createExcess, type Gist } from "../message/gist.ts";
import { type Payload, whole } from "../message/message.ts";
import { createOutlet } from "../relay/outlet.ts";
import { passOn } from "../relay/pass-on.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import { cleanEvent, type EventFrame, pickData, replaceData } from "../wire/event-fields.ts";
import { createEventFramer } from "../wire/events.ts";
import { CLOSED } from "./answers.ts";
import type { EventTrail, WatchedStream } from "./event-trail.ts";
import type { Seat } from "./seats.ts";

/** An event stream from a server to a client. Every message in it is judged. */
export interface StreamBack {
  push(chunk: Buffer): void;
  /** Sends bytes that the proxy composed. */
  write(bytes: Buffer): void;
  /** Whether the client can resume it. */
  readonly isResumable: boolean;
  /**
   * Ends the stream. Its open calls are answered with an error, unless the client can resume it; with "for good" it
   * cannot.
   */
  end(how?: "for good"): void;
  isFull(): boolean;
  whenReady(resume: () => void): void;
  /** How many bytes of memory it uses: incomplete events, and what the client has not read. */
  weight(): number;
}

/** Options of a stream. */
export interface StreamBackOptions {
  readonly response: ServerResponse;
  readonly seat: Seat;
  readonly exchange: Exchange;
  /** The calls that are to be answered on it. */
  readonly calls: readonly Call[];
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** Sends a response that the proxy composed to the server. */
  readonly answerServer: (answer: Buffer) => void;
  /** Keeps which calls may be answered after each event with an id. */
  readonly trail?: EventTrail;
  /** The watched stream, if this one was resumed. */
  readonly watched?: WatchedStream;
  /** Whether the client could resume the stream through the proxy: the session is known, and its era has resumption. */
  readonly mayResume?: (call: Call) => boolean;
  /** Rewrites an endpoint event; null drops it. Without this function endpoint events are treated like any other. */
  readonly endpoint?: (frame: EventFrame) => Buffer | null;
}

/** The limit for the fields of an event other than its data. */
const MAX_FIELDS_BYTES = 65_536;

/**
 * Relays a stream whose head has been sent. Permitted events keep their framing if every parser reads it in the same
 * way; all others are framed again, with only what was judged.
 */
export function createStreamBack(options: StreamBackOptions): StreamBack {
  const { response, seat, exchange, calls, maxMessageBytes, maxBufferBytes, answerServer } = options;
  const { passage, session } = seat;
  const outlet = createOutlet(response, () => {});
  let isResumable = false;
  let watched = options.watched ?? null;
  let waiting = 0; // messages that are held
  let isEnding = false;

  /** Called when a message is no longer held. If the stream is ending, the last one ends it. */
  function arrive(): void {
    waiting--;
    outlet.flush();
    if (waiting === 0 && isEnding) finish(false);
  }

  function finish(isForGood: boolean): void {
    for (const call of calls) {
      if (session.calls.up.find(call.id.key) !== call) continue;
      if (isResumable && !isForGood && options.mayResume?.(call) !== false) session.calls.up.suspend(call);
      else {
        const answer = passage.giveUpOn(call, "up", CLOSED);
        if (answer !== null) outlet.write(frameMessage(answer));
      }
    }
    outlet.end();
  }

  /** Sends an event with its original bytes. */
  function forward({ bytes, start, end }: EventFrame): void {
    outlet.forward(bytes, start, end);
    // Some parsers do not end a line at a CR alone. If an LF follows, the framer reports it as an event that is not
    // plain.
    if (bytes[end - 1] === CR) outlet.write(NEWLINE);
  }

  function rewrite(frame: EventFrame, message: Payload): void {
    outlet.write(replaceData(frame, escapeBreaks(flatten(message))));
  }

  /** Records an event after which the client may resume the stream. */
  function note(eventId: string): void {
    if (watched === null) {
      if (options.trail === undefined || calls.length === 0) return;
      const stream = options.trail.open(calls.filter((call) => session.calls.up.find(call.id.key) === call));
      response.on("close", () => stream.end());
      watched = stream;
    }
    watched.note(eventId);
  }

  function carry(frame: EventFrame, { onward, back, turns = [] }: Outcome): void {
    for (const { answers } of turns) if (answers !== undefined) watched?.answered(answers);
    if (frame.id !== null) note(frame.id);
    if (onward === "untouched") {
      if (frame.isPlain || frame.data === null) forward(frame);
      else rewrite(frame, frame.data);
    } else if (onward !== "nothing") rewrite(frame, whole(onward));
    // The client must be able to resume after this event, although its message was removed.
    else if (frame.id !== null) writeSome(replaceData(frame, null));
    if (back !== null) answerServer(back);
  }

  function writeSome(bytes: Buffer): void {
    if (bytes.length > 0) outlet.write(bytes);
  }

  function lose(gist: Gist, bytes: number): void {
    const { onward, back } = passage.lose(gist, bytes, "down", exchange);
    if (typeof onward !== "string") outlet.write(frameMessage(onward));
    if (back !== null) answerServer(back);
  }
  const loseData = createExcess(lose, maxBufferBytes);

  const framer = createEventFramer(maxMessageBytes + MAX_FIELDS_BYTES, {
    event(frame) {
      if (frame.id !== null) isResumable = true;
      if (frame.data === null) {
        if (frame.id !== null) note(frame.id);
        return frame.isPlain ? forward(frame) : writeSome(cleanEvent(frame));
      }
      if (frame.name === "endpoint" && options.endpoint !== undefined) {
        const said = options.endpoint(frame);
        if (said !== null) outlet.write(said);
        return;
      }
      const { bytes, start, end } = frame.data;
      if (end - start > maxMessageBytes) return loseData(bytes.subarray(start, end), true);
      let state: "now" | "waits" | "done" = "now";
      passOn(passage, frame.data, "down", exchange, (outcome) => {
        carry(frame, outcome);
        if (state === "waits") arrive();
        state = "done";
      });
      if (isStill(state)) {
        state = "waits";
        waiting++;
      }
    },
    excess: createExcess(lose, maxBufferBytes, pickData),
    tail: () => {},
  });

  return {
    push(chunk) {
      framer.push(chunk);
      outlet.flush();
    },
    write: (bytes) => outlet.write(bytes),
    get isResumable() {
      return isResumable;
    },
    end(how) {
      framer.end();
      // "for good" does not wait: calls that are still open are answered with an error.
      if (waiting === 0 || how === "for good") finish(how === "for good");
      else isEnding = true;
    },
    isFull: () => outlet.isFull,
    whenReady: (resume) => outlet.whenReady(resume),
    weight: () => framer.weight() + response.writableLength,
  };
}

/** Compares through a function, because the compiler assumes that the state has not changed. */
function isStill(state: string): boolean {
  return state === "now";
}

/** Frames a message, which must be on one line, as an event. */
export function frameMessage(message: Buffer): Buffer {
  return Buffer.concat([BEFORE, escapeBreaks(message), AFTER]);
}

const CR = 0x0d;
const NEWLINE = Buffer.from("\n");
const BEFORE = Buffer.from("event: message\ndata: ");
const AFTER = Buffer.from("\n\n");
