import type { ToolPage } from "../session/tool-page.ts";
import type { Turn } from "../session/turn.ts";
import { createNameFinder } from "./mentions.ts";
import { hasOddText } from "./odd-text.ts";
import type { ToolFilter } from "./tool-filter.ts";
import { refuseCall } from "./not-found.ts";
import { scrub } from "./scrub.ts";
import { type Decision, PASS } from "./verdict.ts";

/** The tool filter's contract: what is hidden is not listed, and calling it is like calling what never was. */
export function judgeTools(filter: ToolFilter, turn: Turn): Decision {
  if (turn.list !== null) return judgeList(filter, turn, turn.list);
  const call = turn.opens;
  if (call === undefined) {
    if (filter.isStrict) return scrub(filter, turn);
    return mentionsHidden(filter, turn) ? LEAK : PASS;
  }
  if (call.method.name === "tools/list") {
    // In a batch a hundred copies of the list would be in memory at once: there the server answers.
    if (call.cursor !== null || turn.exchange.isMember === true) return PASS;
    const catalogue = turn.session.catalogue(call.era);
    const result = catalogue.isFresh ? filter.view(catalogue).result : null;
    return result === null ? PASS : { verdict: { do: "reply", result }, rule: RULE };
  }
  if (call.method.name !== "tools/call") return PASS;
  if (call.subject === null) return { verdict: { do: "deny", error: NO_NAME }, rule: RULE };
  const catalogue = turn.session.catalogue(call.era);
  if (catalogue.isTooLarge) return UNKNOWN_LIST;
  if (filter.view(catalogue).allowed.has(call.subject)) return PASS;
  // Denied and unknown alike wait for the whole list: neither the answer nor its time tells them apart.
  if (!catalogue.isComplete || (filter.notFound === "upstream" && catalogue.refusal === undefined)) return PARK;
  return { verdict: refuseCall(filter, catalogue, call.subject), rule: RULE };
}

/** The answer to a call that cannot be judged because the list cannot be had, and to a page of such a list. */
export const UNKNOWN_LIST: Decision = {
  verdict: { do: "deny", error: { code: -32603, message: "Internal proxy error" } },
  rule: "tools:no-list",
};

const RULE = "tools";
const PARK: Decision = { verdict: { do: "park" }, rule: RULE };
const NO_NAME = { code: -32602, message: "Invalid params: name is missing" };

function judgeList(filter: ToolFilter, turn: Turn, page: ToolPage | "unreadable"): Decision {
  if (page === "unreadable") {
    return {
      verdict: { do: "deny", error: { code: -32000, message: "Invalid response" } },
      rule: "tools:unreadable-list",
    };
  }
  // What could not be called is not shown.
  if (turn.answers !== undefined && turn.session.catalogue(turn.answers.era).isTooLarge) return UNKNOWN_LIST;
  const hidden = new Set<number>();
  const named = page.tools.flatMap(({ name }, index) => {
    if (name === null) hidden.add(index); // an entry that is no tool
    return name === null ? [] : [{ name, index }];
  });
  filter.hiddenBy(named.map(({ name }) => name)).forEach((by, nth) => {
    if (by !== null) hidden.add(named[nth].index);
  });
  const note = page.tools.some(({ span }) => hasOddText(turn.message.bytes.toString("utf8", span.start, span.end)))
    ? ODD_TEXT
    : null;
  if (hidden.size === 0) return note === null ? PASS : { ...PASS, ...note };
  return {
    ...note,
    verdict: { do: "hide", elements: page.tools.map((tool) => tool.span), hidden },
    rule: RULE,
  };
}

/** A log message that speaks of a hidden tool. It passes, but it is worth a note. */
const LEAK: Decision = { ...PASS, note: "hidden-name" };

/** A definition with text that a person does not see as a model does: terminal escapes, invisible or reordering characters. */
const ODD_TEXT = { note: "odd-text" };

function mentionsHidden(filter: ToolFilter, { message, session }: Turn): boolean {
  const { envelope } = message;
  if (envelope.kind !== "notification" || envelope.method.name !== "notifications/message") return false;
  const text = message.bytes.toString("utf8", message.start, Math.min(message.end, message.start + MAX_LOOKED_AT));
  return ERAS.some((era) => {
    const { hidden } = filter.view(session.catalogue(era));
    return findName(text, hidden.slice(0, MAX_LOOKED_FOR));
  });
}

const findName = createNameFinder(() => performance.now());

// It is only a note: not worth more than a glance at a long text or a long list.
const MAX_LOOKED_AT = 16_384;
const MAX_LOOKED_FOR = 200;

const ERAS = ["stateful", "stateless"] as const;
