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

/** One direction of a conversation over lines. */
export interface Pipe {
  readonly direction: Direction;
  readonly source: Readable;
  /** Where messages go on. */
  readonly onward: Outlet;
  /** Where answers to their sender go. */
  readonly back: Outlet;
  /** Sees all bytes that come from the source. */
  readonly tapped?: ((bytes: Buffer) => void) | undefined;
}

/** What a pump needs beside its pipe. */
export interface PumpOptions {
  readonly passage: Passage;
  readonly exchange: Exchange;
  readonly witness: Pick<Witness, "trouble">;
  readonly maxMessageBytes: number;
  /** Bytes of a message that is too large after which it is given up, also where it has not ended. */
  readonly maxBufferBytes?: number | undefined;
}

/**
 * Carries one direction of a conversation, message by message, until its source ends and nothing
 * it brought is waiting any more. Neighbours that pass leave in one write.
 */
export function pump({ direction, source, onward, back, tapped }: Pipe, options: PumpOptions): Promise<void> {
  const { passage, exchange, witness, maxMessageBytes, maxBufferBytes } = options;
  let parked = 0;
  let ended = false; // nothing more comes, and all of it was taken
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
      if (outcome === UNTOUCHED) onward.forward(bytes, start, end); // most of them
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
