import type { Readable } from "node:stream";
import { NOTHING, type Outcome, UNTOUCHED } from "../action/outcome.ts";
import { createExcess } from "../message/gist.ts";
import type { Direction, Payload } from "../message/message.ts";
import type { Witness } from "../record/witness.ts";
import type { Exchange } from "../session/exchange.ts";
import { isBlank, type LineSink } from "../wire/lines.ts";
import { createFeed } from "./feed.ts";
import type { Outlet } from "./outlet.ts";
import type { Passage } from "./passage.ts";

/** One direction of a session over lines. */
export interface Pipe {
  readonly direction: Direction;
  readonly source: Readable;
  /** Where messages are forwarded to. */
  readonly onward: Outlet;
  /** Where responses to their sender go. */
  readonly back: Outlet;
  /** Receives all bytes that come from the source. */
  readonly tapped?: ((bytes: Buffer) => void) | undefined;
}

/** Options of a pump. */
export interface PumpOptions {
  readonly passage: Passage;
  readonly exchange: Exchange;
  readonly witness: Pick<Witness, "trouble">;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
}

/**
 * Relays one direction of a session, message by message, until its source has ended and none of its messages is held
 * any more. Adjacent messages that are forwarded unchanged leave in one write.
 */
export function pump({ direction, source, onward, back, tapped }: Pipe, options: PumpOptions): Promise<void> {
  const { passage, exchange, witness, maxMessageBytes, maxBufferBytes } = options;
  let parked = 0;
  let ended = false; // the source has ended, and everything from it was processed
  const { promise: done, resolve: finish } = withResolvers();

  function carry({ onward: bytes, back: answer }: Outcome): void {
    if (bytes !== "nothing" && bytes !== "untouched") {
      onward.writeLine(bytes);
      feed.left("onward");
    }
    if (answer === null) return;
    back.writeLine(answer);
    feed.left("back");
  }

  function wait(outcome: Promise<Outcome>, payload: Payload): void {
    parked++;
    const fail = (error: unknown): Outcome => passage.fail(payload, direction, exchange, error, NOTHING);
    void outcome
      .catch(fail)
      .then(carry)
      .catch(fail)
      .then(() => {
        parked--;
        if (ended && parked === 0) finish();
      });
  }

  const sink: LineSink = {
    line(bytes, start, end, ascii) {
      if (isBlank(bytes, start, end)) return;
      const payload = { bytes, start, end: end - 1, ascii };
      const outcome = passage.pass(payload, direction, exchange);
      if (outcome === UNTOUCHED) onward.forward(bytes, start, end); // the most common case
      else if (outcome instanceof Promise) wait(outcome, payload);
      else {
        if (outcome.onward === "untouched") onward.forward(bytes, start, end);
        carry(outcome);
      }
    },
    excess: createExcess((gist, bytes) => carry(passage.lose(gist, bytes, direction, exchange)), maxBufferBytes),
    tail(bytes) {
      witness.trouble(
        "wire:half-line",
        `${bytes.length} bytes without a newline at the end of the stream were not forwarded`,
      );
    },
  };

  const feed = createFeed({
    source,
    maxMessageBytes,
    sink,
    onward,
    back,
    tapped,
    onEnd() {
      ended = true;
      if (parked === 0) finish();
    },
  });
  return done;
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let settle: (() => void) | undefined;
  const promise = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: () => settle?.() };
}
