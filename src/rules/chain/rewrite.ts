import type { Change } from "../../action/change.ts";
import { splice } from "../../message/edit.ts";
import { type Message, openMessage, whole } from "../../message/message.ts";
import { lastScan } from "../../message/scan.ts";
import { readText } from "../../message/text.ts";
import type { Turn } from "../../session/turn.ts";
import { type Maybe, whenKnown } from "../../store/maybe.ts";
import { beginLook } from "../view.ts";
import { spend, walkSteps } from "../work.ts";
import { createRecall } from "./recall.ts";
import { findInner, innerStops, outerStop, type Stop } from "./stop.ts";
import { fromStore } from "./wait.ts";
import { fail, type Walk } from "./walk.ts";

/** Makes a change, and goes on with what came of it. A promise only where the store must be asked about what is inside. */
export function apply(walk: Walk, rule: string, change: Change): void | Promise<void> {
  if ("problem" in change) return fail(walk, rule, change.problem);
  if (change.edits.length === 0) return;
  const { message } = walk.turn;
  walk.rewritten += message.end - message.start;
  if (walk.rewritten > MAX_REWRITTEN_BYTES) return fail(walk, rule, "it is too large to be changed this many times");
  const changed = openMessage(whole(splice(message, change.edits)), message.direction, "allow");
  // A message that was changed is read again, all of it.
  spend(walk.look.work, walkSteps(2 * (changed.end - changed.start)) + STEPS_PER_SET_KEY * lastScan().setKeys);
  if (changed.envelope.kind !== message.envelope.kind)
    return fail(walk, rule, "after the change it is not the same kind of message");
  walk.isDetached = true;
  walk.changedBy = rule;
  return replace(walk, changed);
}

/** What it costs to look whether a key of a large object is there twice. */
const STEPS_PER_SET_KEY = 20;

/** Every change is a new message, all of it: so much is written for one, however many there are inside. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024;

/** Copies the message, so that what it waits with is no more than itself. */
export function detach(walk: Walk): void {
  if (walk.isDetached) return;
  walk.isDetached = true;
  const { bytes, start, end, direction } = walk.turn.message;
  const copy = openMessage(whole(Buffer.from(bytes.subarray(start, end))), direction, walk.turn.exchange.breaks);
  // Never a promise: it says what it said before, and what the store knows about that is known.
  void replace(walk, copy);
}

function replace(walk: Walk, message: Message): void | Promise<void> {
  walk.turn = withMessage(walk.turn, message);
  standAt(walk, outerStop(walk.turn, walk.session, walk.chain));
  if (walk.inner < 0) return;
  return whenKnown(stopsInside(walk), (stops) => {
    if (stops === "unclear" || walk.inner >= stops.length)
      throw new Error("the change removed a message inside this one that was still to be judged");
    standAt(walk, stops[walk.inner]);
  });
}

/** Goes to a stop, and looks at it with what is left of the work that the whole message may cost. */
export function standAt(walk: Walk, stop: Stop): void {
  walk.stop = stop;
  walk.look = beginLook(stop.view, walk.look.work);
}

/** The stops inside the message as it is by now. They are looked for again only where it is another one. */
export function stopsInside(walk: Walk): Maybe<readonly Stop[] | "unclear"> {
  const { turn, state, inside } = walk;
  if (inside !== null && inside.message === turn.message) return inside.stops;
  const found = findInner(turn);
  if (found === "unclear" || found.length === 0) {
    const stops = found === "unclear" ? found : [];
    walk.inside = { message: turn.message, stops };
    return stops;
  }
  const recall = (walk.recall ??= createRecall(state));
  const loading = recall.load(turn, found);
  const make = (): readonly Stop[] => {
    const stops = innerStops(turn, found, walk.session, recall, walk.chain);
    walk.inside = { message: turn.message, stops };
    return stops;
  };
  return loading === undefined ? make() : fromStore(walk, loading).then(make);
}

function withMessage(turn: Turn, message: Message): Turn {
  const { opens } = turn;
  const { envelope, bytes } = message;
  if (opens === undefined || envelope.kind !== "request") return { ...turn, message };
  const { subject } = envelope;
  return {
    ...turn,
    message,
    opens: { ...opens, subject: subject === null ? null : readText(bytes, subject.start + 1, subject.end - 1) },
  };
}
