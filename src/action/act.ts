import { composeError, composeResult } from "../message/compose.ts";
import { cutElements, splice } from "../message/edit.ts";
import type { Verdict } from "../policy/verdict.ts";
import type { Turn } from "../session/turn.ts";
import { NOTHING, type Outcome, UNTOUCHED } from "./outcome.ts";

/**
 * Turns a verdict into an outcome. `park` is not handled here: the caller waits first, and acts on the next verdict.
 */
export function act(verdict: Exclude<Verdict, { do: "park" }>, turn: Turn): Outcome {
  switch (verdict.do) {
    case "pass":
      return UNTOUCHED;
    case "drop":
      return NOTHING;
    case "deny":
      return refuse(verdict, turn);
    case "reply":
      return turn.opens === undefined
        ? NOTHING
        : { onward: "nothing", back: composeResult(turn.opens.id, verdict.result) };
    case "change": {
      const { bytes, start, end } = verdict.message;
      return { onward: bytes.subarray(start, end), back: null };
    }
    case "edit":
      return { onward: splice(turn.message, verdict.edits), back: null };
    case "hide": {
      const edits = cutElements(verdict.elements, (index) => verdict.hidden.has(index));
      return { onward: splice(turn.message, edits), back: null };
    }
  }
}

/** Answers the peer that waits: the sender of a refused request, or the peer that a refused response was meant for. */
function refuse({ error, result }: Extract<Verdict, { do: "deny" }>, turn: Turn): Outcome {
  if (turn.answers !== undefined) return { onward: composeError(turn.answers.id, error), back: null };
  const { envelope } = turn.message;
  switch (envelope.kind) {
    case "request":
      if (result !== undefined && !turn.isIdTaken) {
        return { onward: "nothing", back: composeResult(envelope.id, result) };
      }
      return { onward: "nothing", back: composeError(turn.isIdTaken ? null : envelope.id, error) };
    case "opaque":
      return { onward: "nothing", back: composeError(turn.isIdTaken ? null : envelope.id, error) };
    case "batch":
      return { onward: "nothing", back: composeError(null, error) };
    case "notification":
    case "result":
    case "error":
      return NOTHING;
  }
}
