import type { Outcome } from "../action/outcome.ts";
import { type Message, openMessage, type Payload, whole } from "../message/message.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import { callsOf } from "./server-end.ts";

/** What leaves for the server after a client's message was judged. */
export interface Departure {
  readonly bytes: Buffer;
  /** The message that these bytes are. */
  readonly about: Message;
  /** The calls that it opens. */
  readonly calls: readonly Call[];
}

/** What leaves of a message, as it came or changed; null where nothing does. */
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
