import type { Call } from "../session/call.ts";
import type { ToolPage } from "../session/tool-page.ts";
import type { Turn } from "../session/turn.ts";
import { createNameFinder } from "./mentions.ts";
import { hasOddText } from "./odd-text.ts";
import { NOT_ACCEPTED, type ToolFilter } from "./tool-filter.ts";
import { refuseCall } from "./not-found.ts";
import { scrub } from "./scrub.ts";
import { type Decision, PASS } from "./verdict.ts";

/** Applies the tool filter: a hidden tool is not listed, and calling it is answered like an unknown tool. */
export function judgeTools(filter: ToolFilter, turn: Turn): Decision {
  if (turn.list !== null) return judgeList(filter, turn, turn.list);
  const call = turn.opens;
  if (call === undefined) {
    if (filter.isStrict) return scrub(filter, turn);
    return mentionsHidden(filter, turn) ? LEAK : PASS;
  }
  if (mustLearnFirst(filter, turn, call)) return PARK;
  if (call.method.name === "tools/list") {
    // A batch could need a hundred copies of the list in memory at once, so there the server answers.
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
  // Security: calls of hidden and of unknown tools both wait for the complete list, so that neither the response nor
  // its timing tells them apart.
  if (!catalogue.isComplete || (filter.notFound === "upstream" && catalogue.refusal === undefined)) return PARK;
  return { verdict: refuseCall(filter, catalogue, call.subject), rule: isStrange ? "tools:pin" : RULE };
}

/**
 * Whether the complete list must be pinned before any of it is shown. Otherwise a server that always announces one more
 * page, which clients do not request, could change the first page at will.
 */
function mustLearnFirst(filter: ToolFilter, { session }: Turn, { method: { name }, era }: Call): boolean {
  if ((name !== "tools/list" && name !== "tools/call") || !filter.isFirstTime()) return false;
  const { isComplete, isTooLarge } = session.catalogue(era);
  return !isComplete && !isTooLarge;
}

/**
 * The decision about a call that cannot be judged because the list is not available, and about a page of such a list.
 */
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
  // Nothing was accepted yet, and this list cannot be pinned: it is incomplete or stale.
  if (filter.isFirstTime()) return UNKNOWN_LIST;
  // The tools of this list cannot be called, so they are not shown.
  if (turn.answers !== undefined && turn.session.catalogue(turn.answers.era).isTooLarge) return UNKNOWN_LIST;
  const hidden = new Set<number>();
  const { bytes } = turn.message;
  const named = page.tools.flatMap(({ name, span }, index) => {
    if (name === null) hidden.add(index); // not a valid tool
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

/** The note about a list: a tool is not as it was accepted, or has text that people do not see as models do. */
function noteOn(strange: string | undefined, odd: string | undefined): Pick<Decision, "note" | "about"> | null {
  if (strange !== undefined) return { note: STRANGE, about: strange };
  return odd === undefined ? null : { note: "odd-text", about: odd };
}

/** A log message that contains the name of a hidden tool. It passes with a note. */
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

// Limits of the search: it only leads to a note, so it must be cheap for a long text or a long list.
const MAX_LOOKED_AT = 16_384;
const MAX_LOOKED_FOR = 200;

const ERAS = ["stateful", "stateless"] as const;
