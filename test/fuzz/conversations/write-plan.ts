import { QUESTIONS } from "./messages.ts";
import { type AskStep, PLAIN, type Plan, type ReplyStep, type Setting, type Step } from "./plan.ts";

/** A conversation written by hand: who speaks to whom, such as `http-stdio`, and what they do. */
export function write(pair: string, steps: readonly Step[], setting: Partial<Setting> = {}): Plan {
  const [client, server] = pair.split("-") as [Setting["client"], Setting["server"]];
  return { setting: { ...PLAIN, client, server, ...setting }, steps };
}

/** Begins a session. */
export const OPEN: Step = { do: "open", client: 0 };

/** A request, such as `tools/call safe_a`. Its id is a new one: 2, "s3", 4, 5, "s6" and so on. */
export function ask(what: string, more: Partial<AskStep> = {}): AskStep {
  const [method, about] = what.split(" ");
  const question = QUESTIONS.findIndex((one) => one.method === method && one.about === about);
  if (question < 0) throw new Error(`nobody asks ${what}`);
  const id = { from: "fresh", nth: 0 } as const;
  return { do: "ask", client: 0, question, id, hasProgress: false, isStateless: false, ...more };
}

/** A request of 2026-07-28. */
export function askAlone(what: string, more: Partial<AskStep> = {}): AskStep {
  return ask(what, { isStateless: true, ...more });
}

/** The id that was used as the `nth` in the session, again. */
export function used(nth: number): Partial<AskStep> {
  return { id: { from: "used", nth } };
}

/** Several requests in one message. */
export function batch(...asks: AskStep[]): Step {
  return { do: "batch", client: 0, asks };
}

/** Answers the `nth` of the requests that wait, with an event that ends the stream. */
export function reply(nth: number, more: Partial<ReplyStep> = {}): ReplyStep {
  const plain = {
    where: -1,
    as: "event",
    spelling: 0,
    kind: "result",
    isLarge: false,
    hasId: false,
    status: 200,
  } as const;
  return { do: "reply", nth, ...plain, ...more };
}
