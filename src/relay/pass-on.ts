import { NOTHING, type Outcome } from "../action/outcome.ts";
import type { Direction, Payload } from "../message/message.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Passage } from "./passage.ts";

/**
 * Asks what becomes of a message and has that carried out: at once, or when it is known. Where either goes wrong, the
 * message does not pass, and whoever waits is told so by the same way.
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
      passage.fail(payload, direction, exchange, another, NOTHING); // there is no way to tell anybody but the log
    }
  };
  const outcome = passage.pass(payload, direction, exchange);
  if (outcome instanceof Promise) void outcome.then(attempt, (error: unknown) => amend(error, NOTHING));
  else attempt(outcome);
}
