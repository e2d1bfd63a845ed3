import { NOTHING, type Outcome } from "../action/outcome.ts";
import type { Direction, Payload } from "../message/message.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Passage } from "./passage.ts";

/**
 * Has a message judged and calls `carry` with the outcome: at once, or when it is known. If either step fails, the
 * message is not forwarded, and `carry` is called with an error for the open call.
 */
export function passOn(
  passage: Passage,
  payload: Payload,
  direction: Direction,
  exchange: Exchange,
  carry: (outcome: Outcome) => void,
): void {
  const attempt = (outcome: Outcome): void => {
    try {
      carry(outcome);
    } catch (error) {
      amend(error, outcome);
    }
  };
  const amend = (error: unknown, outcome: Outcome): void => {
    const instead = passage.fail(payload, direction, exchange, error, outcome);
    try {
      carry(instead);
    } catch (another) {
      // the error cannot be sent to a peer, so it is only logged
      passage.fail(payload, direction, exchange, another, NOTHING);
    }
  };
  const outcome = passage.pass(payload, direction, exchange);
  if (outcome instanceof Promise) void outcome.then(attempt, (error: unknown) => amend(error, NOTHING));
  else attempt(outcome);
}
