import type { Outcome } from "../action/outcome.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import { callsOf } from "./server-end.ts";

/** What is sent to the server after a client's message was judged. */
export interface Departure {
  readonly bytes: Buffer;
  /** The message in these bytes. */
  readonly about: Message;
  /** The calls that it opens. */
  readonly calls: readonly Call[];
}

/** What is sent to the server for a message, unchanged or changed; null if nothing is sent. */
export function departureOf(
  outcome: Outcome,
  { bytes, start, end }: Payload,
  breaks: Exchange["breaks"],
): Departure | null {
  const { onward, turns = [] } = outcome;
  if (onward === "nothing") return null;
  const left = onward === "untouched" ? bytes.subarray(start, end) : onward;
  const about = turns.length === 1 ? turns[0].message : openMessage(whole(left), "up", breaks);
  return { bytes: left, about, calls: callsOf(turns) };
}
