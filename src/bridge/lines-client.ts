import type { Readable, Writable } from "node:stream";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import type { Outcome } from "../action/outcome.ts";
import { flatten } from "../message/flatten.ts";
import { createExcess } from "../message/gist.ts";
import { type Payload, whole } from "../message/message.ts";
import type { Witness } from "../record/witness.ts";
import { createFeed, type Feed } from "../relay/feed.ts";
import { createOutlet, whenStuck } from "../relay/outlet.ts";
import { passOn } from "../relay/pass-on.ts";
import { tapPair } from "../relay/tapped.ts";
import { type Exchange, LINES } from "../session/exchange.ts";
import { isBlank, type LineSink } from "../wire/lines.ts";
import type { Tap } from "../wire/tap.ts";
import { CLOSED } from "./answers.ts";
import { departureOf } from "./departure.ts";
import type { Seat } from "./seats.ts";
import { sendOwn, type ServerEnd, type ServerListener } from "./server-end.ts";

/** A client on a pair of streams with one message per line, connected to a server of another transport. */
export interface LinesClient {
  readonly listener: ServerListener;
  /** Starts forwarding messages. Resolves when the client has closed its input or is gone. */
  run(end: ServerEnd): Promise<void>;
  /** Resolves when there are no open calls any more, or after this time. */
  answered(limitMs: number): Promise<void>;
  /** Sends a message that the proxy composed to the client, if it is still connected. */
  say(message: Buffer): void;
  /** Answers all open calls with an error. Resolves when the output is written, or when the client does not read it. */
  giveUp(): Promise<void>;
}

/** Options of such a client. */
export interface LinesClientOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly seat: Seat;
  readonly witness: Pick<Witness, "trouble">;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  /** How long a client that has closed stdin may go without reading any of the remaining output. */
  readonly slowReaderMs: number;
  /** Receives a copy of the client's bytes; null if nothing is attached. */
  readonly tap?: Tap | null;
}

const ROUTED: Exchange = { ...LINES, routed: true };
/** The payload of a message that was not kept. */
const NONE = whole(Buffer.alloc(0));

/** Connects a client that sends lines to any server end. */
export function createLinesClient(options: LinesClientOptions): LinesClient {
  const { input, output, seat, witness, maxMessageBytes, maxBufferBytes, slowReaderMs, tap = null } = options;
  const tapped = tapPair(tap, "client", "stdio");
  const { passage, session } = seat;
  let server: ServerEnd | null = null;
  let feed: Feed | null = null;
  let leave: (() => void) | undefined;
  const toClient = createOutlet(output, () => leave?.(), tapped?.out);

  function carryUp(payload: Payload, outcome: Outcome): void {
    if (outcome.back !== null) answerHere(outcome.back);
    const departure = departureOf(outcome, payload, "refuse");
    if (departure === null) return;
    server?.send(departure.bytes, departure.about, departure.calls);
    feed?.left("onward");
  }

  function answerHere(answer: Buffer): void {
    toClient.writeLine(answer);
    feed?.left("back");
  }

  function carryDown(payload: Payload, { onward, back }: Outcome): void {
    if (onward !== "nothing") toClient.writeLine(flatten(onward === "untouched" ? payload : whole(onward)));
    if (back !== null) sendOwn(server, session, back);
  }

  const listener: ServerListener = {
    message(payload, exchange) {
      passOn(passage, payload, "down", exchange, (outcome) => carryDown(payload, outcome));
    },
    lost: (gist, bytes, exchange) => carryDown(NONE, passage.lose(gist, bytes, "down", exchange)),
    isWaiting: (call) => session.calls.up.find(call.id.key) === call,
    givenUp: (call) => session.calls.up.spend(call),
    trouble: (kind, text) => witness.trouble(kind, text),
    get isFull() {
      return toClient.isFull;
    },
    whenReady: (resume) => toClient.whenReady(resume),
  };

  return {
    listener,
    run(end) {
      server = end;
      const sink: LineSink = {
        line(bytes, start, lineEnd, ascii) {
          if (isBlank(bytes, start, lineEnd)) return;
          const payload = { bytes, start, end: lineEnd - 1, ascii };
          passOn(passage, payload, "up", ROUTED, (outcome) => carryUp(payload, outcome));
        },
        excess: createExcess((gist, bytes) => carryUp(NONE, passage.lose(gist, bytes, "up", ROUTED)), maxBufferBytes),
        tail: (bytes) =>
          witness.trouble("wire:half-line", `${bytes.length} bytes without a newline at the end were not forwarded`),
      };
      return new Promise((resolve) => {
        leave = resolve;
        const ways = { source: input, onward: end, back: toClient, tapped: tapped?.in };
        feed = createFeed({ ...ways, maxMessageBytes, sink, onEnd: resolve });
        // The feed waits with the client's last messages until the client has read its responses. A client that does
        // not read at all is not waited for.
        input.once("end", () => whenStuck(output, slowReaderMs, resolve));
      });
    },
    async answered(limitMs) {
      const until = Date.now() + limitMs;
      while (session.calls.up.waiting().length > 0 && Date.now() < until && !toClient.isClosed) await delay(20);
    },
    say: (message) => toClient.writeLine(message),
    async giveUp() {
      for (const answer of passage.giveUp("up", CLOSED)) toClient.writeLine(answer);
      await nextTurn(); // the refused part of a batch is sent when no message of the batch is held any more
      tapped?.end();
      if (toClient.isClosed) return;
      await new Promise<void>((resolve) => {
        whenStuck(output, slowReaderMs, resolve);
        output.once("close", resolve);
        output.once("finish", resolve);
        // nothing may be written after `end`: that would destroy the stream and lose its buffered output
        toClient.end();
      });
    },
  };
}
