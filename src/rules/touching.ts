import { eachText } from "../message/each-text.ts";
import type { Span } from "../message/envelope.ts";
import { readText, showText } from "../message/text.ts";
import { type Budget, showMarks, Spent, spendSteps } from "./touches/names.ts";
import { createTouchTest, MAX_TOUCH_STEPS, type Touch } from "./touches/touches.ts";
import { MAX_SHOWN } from "./describe.ts";
import { type FieldTable, lookUp, spanOf } from "./fields.ts";
import type { Leaf } from "./leaf.ts";
import type { Condition } from "./rule.ts";
import { keep, type Look, memoOf, SECTION } from "./view.ts";

/** The cost of looking at a string of any length. */
const TEXT_STEPS = 24;

/**
 * Compiles a `touches` condition, which tests whether a request may access some files. A doubtful case counts as yes.
 */
export function touching(condition: Condition & { readonly is: "touches" }, fields: FieldTable): Leaf {
  const begin = createTouchTest(condition.paths, condition.globs);
  const steps = condition.fields?.map((field) => fields.intern(field)) ?? null;

  function find(look: Look, budget: Budget): Touch | null {
    const memo = memoOf(look, SECTION.params);
    if (memo === null) return null;
    const spans: Span[] = [];
    if (steps === null) spans.push(spanOf(memo.seen[0] as NonNullable<(typeof memo.seen)[0]>));
    for (const step of steps ?? []) {
      const seen = lookUp(memo, step);
      if (seen !== null) spans.push(spanOf(seen));
    }
    const search = begin(budget);
    let found: Touch | null = null;
    for (const span of spans) {
      eachText(memo.bytes, span, ({ start, end, isKey, depth }) => {
        if (found !== null) return false;
        const text = readText(memo.bytes, start + 1, end - 1);
        // The keys of params itself are defined by the protocol, so they are not tested.
        if (steps === null && depth === 1 && isKey) return !isSkipped(text, look.view.method);
        try {
          spendSteps(budget, TEXT_STEPS);
          found = search.look(text, !isKey);
        } catch (error) {
          if (!(error instanceof Spent)) throw error;
          found = { doubt: TOO_MUCH };
        }
        return true;
      });
    }
    return found;
  }

  return {
    // All `touches` conditions share one budget for each message.
    test: (look) => find(look, keep<Budget>(look, "touches", newBudget)) !== null,
    saw(look) {
      const found = find(look, newBudget());
      if (found === null) return "(nothing of that)";
      return "doubt" in found ? `(not certain: ${found.doubt})` : showText(showMarks(found.word), MAX_SHOWN);
    },
  };
}

function newBudget(): Budget {
  return { left: MAX_TOUCH_STEPS };
}

const TOO_MUCH = "there is too much in it to look through";

/** Members that cannot name a file: the name of the tool or prompt, and `_meta`. */
function isSkipped(member: string, method: string | null): boolean {
  return member === "_meta" || (member === "name" && (method === "tools/call" || method === "prompts/get"));
}
