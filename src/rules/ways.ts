import type { Direction } from "../message/message.ts";
import { METHODS } from "../message/methods.ts";
import type { Condition } from "./rule.ts";
import { guessAll } from "./guess.ts";

/** Which messages sent in one direction can match some conditions, among the methods known to the proxy. */
export interface Ways {
  /** Requests and notifications. */
  readonly said: boolean;
  /** Responses to requests sent in the other direction. */
  readonly answered: boolean;
}

/** Finds out which messages in one direction conditions can match, as far as method and tool decide it. */
export function findWays(conditions: readonly Condition[], direction: Direction): Ways {
  const [own, other] = direction === "up" ? ["client", "server"] : ["server", "client"];
  let said = false;
  let answered = false;
  for (const { name, sender, form } of METHODS) {
    if ((said || sender === other) && (answered || sender === own || form === "notification")) continue;
    const tool = name === "tools/call" ? undefined : null;
    if (guessAll(conditions, { moment: "said", direction, method: name, tool }) === "no") continue;
    said ||= sender !== other;
    answered ||= sender !== own && form !== "notification";
  }
  return { said, answered };
}
