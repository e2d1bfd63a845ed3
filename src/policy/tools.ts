import type { Call } from "../session/call.ts";
import type { ToolPage } from "../session/tool-page.ts";
import type { Turn } from "../session/turn.ts";
import { createNameFinder } from "./mentions.ts";
import { hasOddText } from "./odd-text.ts";
import { NOT_ACCEPTED, type ToolFilter } from "./tool-filter.ts";
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
  if (mustLearnFirst(filter, turn, call)) return PARK;
  if (call.method.name === "tools/list") {
    // In a batch a hundred copies of the list would be in memory at once: there the server answers.
    if (call.cursor !== null || turn.exchange.isMember === true) return PASS;
    const catalogue = turn.session.catalogue(call.era);
    const view = catalogue.isFresh() ? filter.view(catalogue) : null;
    if (view === null || view.result === null) return PASS;
    const [strange] = view.strange;
    return { ...noteOn(strange, view.odd[0]), verdict: { do: "reply", result: view.result }, rule: RULE };
  }
  if (call.method.name !== "tools/call") return PASS;
  if (call.subject === null) return { verdict: { do: "deny", error: NO_NAME }, rule: RULE };
  const catalogue = turn.session.catalogue(call.era);
  if (catalogue.isTooLarge) return UNKNOWN_LIST;
  const { allowed, strange } = filter.view(catalogue);
  const isStrange = strange.has(call.subject);
  if (allowed.has(call.subject)) return isStrange ? { ...PASS, note: STRANGE } : PASS;
  // Denied and unknown alike wait for the whole list: neither the answer nor its time tells them apart.
  if (!catalogue.isComplete || (filter.notFound === "upstream" && catalogue.refusal === undefined)) return PARK;
  return { verdict: refuseCall(filter, catalogue, call.subject), rule: isStrange ? "tools:pin" : RULE };
}

/**
 * Whether the whole list has to be remembered before anything of it is shown: a server that always has one more page,
 * which its clients do not ask for, could otherwise change the first one as it likes.
 */
function mustLearnFirst(filter: ToolFilter, { session }: Turn, { method: { name }, era }: Call): boolean {
  if ((name !== "tools/list" && name !== "tools/call") || !filter.isFirstTime()) return false;
  const { isComplete, isTooLarge } = session.catalogue(era);
  return !isComplete && !isTooLarge;
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
  // A list that was never accepted and cannot be remembered: half of one, or one that holds no longer.
  if (filter.isFirstTime()) return UNKNOWN_LIST;
  // What could not be called is not shown.
  if (turn.answers !== undefined && turn.session.catalogue(turn.answers.era).isTooLarge) return UNKNOWN_LIST;
  const hidden = new Set<number>();
  const { bytes } = turn.message;
  const named = page.tools.flatMap(({ name, span }, index) => {
    if (name === null) hidden.add(index); // an entry that is no tool
    return name === null ? [] : [{ name, index, raw: bytes.subarray(span.start, span.end) }];
  });
  const fates = filter.hiddenAmong(named);
  fates.forEach((by, nth) => {
    if (by !== null) hidden.add(named[nth].index);
  });
  const [strange] = filter.strangeAmong(named);
  const odd = named.find(({ raw }) => hasOddText(raw.toString("utf8")));
  const note = noteOn(strange, odd?.name);
  if (hidden.size === 0) return note === null ? PASS : { ...PASS, ...note };
  return {
    ...note,
    verdict: { do: "hide", elements: page.tools.map((tool) => tool.span), hidden },
    rule: fates.includes(NOT_ACCEPTED) ? "tools:pin" : RULE,
  };
}

/** What is worth noting of a list: a tool that is not as it was accepted, or text that people do not see as models do. */
function noteOn(strange: string | undefined, odd: string | undefined): Pick<Decision, "note" | "about"> | null {
  if (strange !== undefined) return { note: STRANGE, about: strange };
  return odd === undefined ? null : { note: "odd-text", about: odd };
}

/** A log message that speaks of a hidden tool. It passes, but it is worth a note. */
const LEAK: Decision = { ...PASS, note: "hidden-name" };

/** A tool that is new, or not as it was accepted. */
const STRANGE = "strange-tool";

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
