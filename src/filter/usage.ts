import { findField, type Known } from "./fields.ts";
import { eachTerm, type Filter, type FilterTerm, topLevel } from "./filter.ts";
import { createMistake, type FilterMistake } from "./mistake.ts";
import { printField } from "./print.ts";

/** What a filter is used for: current rows, past rows, or messages to stop. */
export type Usage = "live" | "history" | "breakpoint";

/** The mistakes in a filter for this use. A filter that tests an unknown value would never match. */
export function checkUsage(filter: Filter, usage: Usage): FilterMistake[] {
  const terms = [...eachTerm(filter.root)];
  if (usage === "breakpoint") return terms.flatMap((term) => checkBreakpoint(filter, term));
  // Only in History can a second policy judge a row, so only there can the decisions differ.
  if (usage === "history") return [];
  return terms
    .filter((term) => term.kind === "word" && term.field.name === "is" && term.words.includes("flipped"))
    .map((at) => createMistake({ at }, "is:flipped is known in History, where a second policy judges"));
}

function checkBreakpoint(filter: Filter, term: FilterTerm): FilterMistake[] {
  const unknown = namesOf(term).find(
    ({ known }) => known !== "request" && !(known === "answer" && isForAnswers(filter)),
  );
  if (unknown === undefined) return [];
  const { name, known } = unknown;
  if (known === "now") return [createMistake({ at: term }, `${name} is always now when a message is stopped`)];
  if (known === "later")
    return [createMistake({ at: term }, `${name} is not known before a stopped message has been decided`)];
  const says = `${name} is not known when a request is stopped. `;
  return [createMistake({ at: term, fix: onlyAnswers(filter) }, says, "dir:down", " stops answers")];
}

/** The fields or states that a term tests, and when each is known. */
function namesOf(term: FilterTerm): { readonly name: string; readonly known: Known }[] {
  const { field } = term;
  const definition = field.name === "shown" ? undefined : findField(field.name);
  if (definition === undefined) return [];
  if (definition.name !== "is") return [{ name: printField(field), known: definition.known }];
  const words = term.kind === "word" ? term.words : definition.words.map(({ name }) => name);
  return definition.words
    .filter(({ name }) => words.includes(name))
    .map(({ name, known }) => ({ name: `is:${name}`, known }));
}

/** Whether a filter matches only responses, because one of its parts is `dir:down`. */
function isForAnswers(filter: Filter): boolean {
  return directionOf(filter)?.words.every((word) => word === "down") === true;
}

/** The part of a filter that tests the direction. */
function directionOf(filter: Filter): (FilterTerm & { kind: "word" }) | undefined {
  return topLevel(filter).find((part) => part.kind === "word" && part.field.name === "dir") as
    | (FilterTerm & { kind: "word" })
    | undefined;
}

function onlyAnswers(filter: Filter): { start: number; end: number; text: string } {
  const direction = directionOf(filter);
  if (direction !== undefined) return { start: direction.start, end: direction.end, text: "dir:down" };
  const { text, root } = filter;
  // Next to an `or`, the new term would apply to the first alternative only.
  if (root.kind === "any") return { start: 0, end: text.length, text: `dir:down (${text.trim()})` };
  return { start: 0, end: 0, text: "dir:down " };
}
