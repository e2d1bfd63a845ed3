import { eachText } from "../message/each-text.ts";
import { cutElements, type Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { findMember, listElements, readString } from "../message/members.ts";
import { readText } from "../message/text.ts";
import { OPEN_ARRAY } from "../message/characters.ts";
import type { Turn } from "../session/turn.ts";
import type { SeenNames, ToolFilter } from "./tool-filter.ts";
import { type Decision, PASS } from "./verdict.ts";
import { createScrubber, type Scrubber } from "./name-scrubber.ts";

/** Removes the names of hidden tools from a server's errors, completions and log messages. Nothing else changes. */
export function scrub(filter: ToolFilter, turn: Turn): Decision {
  const { message, answers } = turn;
  const { bytes, envelope, direction } = message;
  if (direction === "up") return PASS;
  const { seen } = filter;
  if (seen.hidden.size === 0) return PASS;
  switch (envelope.kind) {
    case "error":
      return decide(editTexts(bytes, envelope.error, scrubberFor(seen)));
    case "notification":
      if (envelope.method.name !== "notifications/message" || envelope.params === null) return PASS;
      return decide(editTexts(bytes, envelope.params, scrubberFor(seen)));
    case "result":
      if (answers?.method.name !== "completion/complete") return PASS;
      return decide(cutValues(bytes, envelope.result, scrubberFor(seen)));
    case "request":
    case "batch":
    case "opaque":
      return PASS;
  }
}

const RULE = "tools:strict";

function decide(edits: Edit[] | null): Decision {
  // The search took too long, so the message does not pass: a response becomes an error, a notification is dropped.
  if (edits === null)
    return { verdict: { do: "deny", error: { code: -32000, message: "Invalid response" } }, rule: RULE };
  return edits.length === 0 ? PASS : { verdict: { do: "edit", edits }, rule: RULE };
}

// Used for all messages until the names change, because a scrubber builds an index of the names.
const scrubbers = new WeakMap<SeenNames, { readonly version: number; readonly scrubber: Scrubber }>();

function scrubberFor(seen: SeenNames): Scrubber {
  const { version, hidden, shown } = seen;
  const known = scrubbers.get(seen);
  if (known !== undefined && known.version === version) return known.scrubber;
  const scrubber = createScrubber(hidden, shown);
  scrubbers.set(seen, { version, scrubber });
  return scrubber;
}

/**
 * Scrubs all strings. They are decoded first, so that escapes cannot hide a name. Only changed strings are rewritten.
 */
function editTexts(bytes: Buffer, span: Span, scrubber: Scrubber): Edit[] | null {
  const edits: Edit[] = [];
  const search = scrubber();
  let keys = 0;
  let isOver = false;
  eachText(bytes, span, ({ start, end, isKey }) => {
    const text = readText(bytes, start + 1, end - 1);
    const next = isOver ? text : search(text);
    if (next === null) isOver = true;
    else if (next !== text) {
      // Two keys that became equal would be duplicate keys, so each further one gets a number.
      const said = isKey && keys++ > 0 ? `${next} ${keys}` : next;
      edits.push({ span: { start, end }, by: Buffer.from(JSON.stringify(said)) });
    }
    return true;
  });
  return isOver ? null : edits;
}

/** Removes completion values that contain the name of a hidden tool. */
function cutValues(bytes: Buffer, result: Span, scrubber: Scrubber): Edit[] | null {
  const completion = findMember(bytes, result, "completion");
  const values = completion === null ? null : findMember(bytes, completion, "values");
  if (values === null || bytes[values.start] !== OPEN_ARRAY) return [];
  const search = scrubber();
  const elements = listElements(bytes, values);
  const found = elements.map((span) => {
    const text = readString(bytes, span);
    const next = text === null ? "" : search(text);
    return next === null ? null : text !== null && next !== text;
  });
  return found.includes(null) ? null : cutElements(elements, (index) => found[index] === true);
}
