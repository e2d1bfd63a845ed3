import type { Direction } from "../message/message.ts";
import { METHODS } from "../message/methods.ts";
import type { Condition } from "./rule.ts";
import { guessAll } from "./guess.ts";

/** What can go one way and fulfil some conditions, by the methods that are known. */
export interface Ways {
  /** Requests and notifications. */
  readonly said: boolean;
  /** Answers to requests that went the other way. */
  readonly answered: boolean;
}

/** Finds out what conditions can be about in one direction, as far as method and tool tell. */
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
