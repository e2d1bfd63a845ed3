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

/** An event stream of a server on its way to a client, every message in it judged. */
export interface StreamBack {
  push(chunk: Buffer): void;
  /** Sends bytes of ours. */
  write(bytes: Buffer): void;
  /** Whether it can be taken up again where it ends. */
  readonly isResumable: boolean;
  /** The stream is over. Whoever waits on it is told, unless it can be taken up again; for good, it cannot. */
  end(how?: "for good"): void;
  isFull(): boolean;
  whenReady(resume: () => void): void;
  /** How much memory it takes up: what is not whole yet, and what the client has not read. */
  weight(): number;
}

/** What a stream belongs to. */
export interface StreamBackOptions {
  readonly response: ServerResponse;
  readonly seat: Seat;
  readonly exchange: Exchange;
  /** The calls that are to be answered on it. */
  readonly calls: readonly Call[];
  readonly maxMessageBytes: number;
  /** Bytes of a message that is too large after which it is given up, also where it has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** Takes an answer of ours for the server. */
  readonly answerServer: (answer: Buffer) => void;
  /** Where streams are watched whose events have ids. */
  readonly trail?: EventTrail;
  /** The stream as it is watched, where it was resumed. */
  readonly watched?: WatchedStream;
  /** Whether the client could resume the stream through us: in a session that we know, and in the era that has it. */
  readonly mayResume?: (call: Call) => boolean;
  /** What becomes of an event that says where messages go; null where it is dropped. Without it, it is no such event. */
  readonly endpoint?: (frame: EventFrame) => Buffer | null;
}

/** What an event has beside its data. */
const MAX_FIELDS_BYTES = 65_536;

/**
 * Relays a stream whose head has been sent. What passes leaves framed as it came, where every reader reads that alike; all
 * other events are framed anew, with nothing but what was judged.
 */
export function createStreamBack(options: StreamBackOptions): StreamBack {
  const { response, seat, exchange, calls, maxMessageBytes, maxBufferBytes, answerServer } = options;
  const { passage, session } = seat;
  const outlet = createOutlet(response, () => {});
  let isResumable = false;
  let watched = options.watched ?? null;
  let waiting = 0; // messages that something is waited for with
  let isEnding = false;

  /** What was waited for is over. The stream ends with the last one. */
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

  /** Sends an event as it came. */
  function forward({ bytes, start, end }: EventFrame): void {
    outlet.forward(bytes, start, end);
    // Some readers end no line at a CR alone. If the LF is still to come, the framer hands it on as an event that is not plain.
    if (bytes[end - 1] === CR) outlet.write(NEWLINE);
  }

  function rewrite(frame: EventFrame, message: Payload): void {
    outlet.write(replaceData(frame, escapeBreaks(flatten(message))));
  }

  /** Notes an event after which the client may resume the stream. */
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
    // The client must be able to go on from here, though it does not see what was here.
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
      // For good is now: whoever is still waiting for something is told.
      if (waiting === 0 || how === "for good") finish(how === "for good");
      else isEnding = true;
    },
    isFull: () => outlet.isFull,
    whenReady: (resume) => outlet.whenReady(resume),
    weight: () => framer.weight() + response.writableLength,
  };
}

/** Whether a state is still what it was. Only the compiler believes that nobody has changed it. */
function isStill(state: string): boolean {
  return state === "now";
}

/** A message on one line as an event of ours. */
export function frameMessage(message: Buffer): Buffer {
  return Buffer.concat([BEFORE, escapeBreaks(message), AFTER]);
}

const CR = 0x0d;
const NEWLINE = Buffer.from("\n");
const BEFORE = Buffer.from("event: message\ndata: ");
const AFTER = Buffer.from("\n\n");
