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

/**
 * Applies a change and continues with the changed message. Returns a promise only if the store has to be asked about
 * messages inside it.
 */
export function apply(walk: Walk, rule: string, change: Change): void | Promise<void> {
  if ("problem" in change) return fail(walk, rule, change.problem);
  if (change.edits.length === 0) return;
  const { message } = walk.turn;
  walk.rewritten += message.end - message.start;
  if (walk.rewritten > MAX_REWRITTEN_BYTES) return fail(walk, rule, "it is too large to be changed this many times");
  const changed = openMessage(whole(splice(message, change.edits)), message.direction, "allow");
  // A changed message is read again as a whole.
  spend(walk.look.work, walkSteps(2 * (changed.end - changed.start)) + STEPS_PER_SET_KEY * lastScan().setKeys);
  if (changed.envelope.kind !== message.envelope.kind)
    return fail(walk, rule, "after the change it is not the same kind of message");
  walk.isDetached = true;
  walk.changedBy = rule;
  return replace(walk, changed);
}

/** The cost of checking whether a key of a large object is a duplicate. */
const STEPS_PER_SET_KEY = 20;

/**
 * Every change writes the whole message again. This limits the bytes written for one message and all messages inside
 * it.
 */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024;

/** Copies the message, so that while it waits, it does not keep the whole read buffer in memory. */
export function detach(walk: Walk): void {
  if (walk.isDetached) return;
  walk.isDetached = true;
  const { bytes, start, end, direction } = walk.turn.message;
  const copy = openMessage(whole(Buffer.from(bytes.subarray(start, end))), direction, walk.turn.exchange.breaks);
  // Never a promise here: the copy has the same content, and everything about it is already loaded from the store.
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

/** Moves to a stop. Its look shares the work of the whole message. */
export function standAt(walk: Walk, stop: Stop): void {
  walk.stop = stop;
  walk.look = beginLook(stop.view, walk.look.work);
}

/** The stops inside the current message. They are searched for again only after the message has changed. */
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
