import { NOTHING, type Outcome, UNTOUCHED } from "../action/outcome.ts";
import { cutElements, type Edit, splice } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { listElements } from "../message/members.ts";
import type { Direction, Message, Payload } from "../message/message.ts";
import type { Exchange } from "../session/exchange.ts";

type Pass = (payload: Payload, direction: Direction, exchange: Exchange) => Outcome | Promise<Outcome>;

/** Judges each message of a batch on its own, and composes a batch of those that remain. */
export function passBatch(pass: Pass, message: Message, exchange: Exchange): Outcome | Promise<Outcome> {
  const { bytes, ascii, direction } = message;
  const members = listElements(bytes, { start: bytes.indexOf("[", message.start), end: message.end });
  const outcomes = members.map((member) =>
    pass({ ...member, bytes, ascii }, direction, { ...exchange, isMember: true }),
  );
  if (outcomes.every((outcome) => !(outcome instanceof Promise))) return join(message, members, outcomes as Outcome[]);
  return Promise.all(outcomes.map((outcome) => Promise.resolve(outcome))).then((settled) =>
    join(message, members, settled),
  );
}

function join(message: Message, members: readonly Span[], outcomes: readonly Outcome[]): Outcome {
  const backs = outcomes.flatMap(({ back }) => (back === null ? [] : [back.toString("latin1")]));
  const back = backs.length === 0 ? null : Buffer.from(`[${backs.join(",")}]`, "latin1");
  const all = outcomes.flatMap((outcome) => outcome.turns ?? []);
  if (outcomes.every((outcome) => outcome.onward === "untouched")) return { ...UNTOUCHED, back, turns: all };
  if (outcomes.every((outcome) => outcome.onward === "nothing")) return { ...NOTHING, back, turns: all };
  // The links expect the other side to answer the calls in these turns. A refused request is already answered, so its
  // turn opens no call.
  const turns = outcomes.flatMap(({ onward, turns: own = [] }) =>
    onward === "nothing" ? own.map((turn) => ({ ...turn, opens: undefined })) : own,
  );
  const changed = outcomes.flatMap(({ onward }, index): Edit[] =>
    typeof onward === "string" ? [] : [{ span: members[index], by: onward }],
  );
  const cut = cutElements(members, (index) => outcomes[index].onward === "nothing");
  const edits = [...changed, ...cut].sort((one, other) => one.span.start - other.span.start);
  return { onward: splice(message, edits), back, turns };
}
