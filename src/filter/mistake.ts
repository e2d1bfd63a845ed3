import { showText } from "../message/text.ts";
import type { Span } from "./filter.ts";

/** Something in a filter that has to be written otherwise. */
export interface FilterMistake extends Span {
  /** What is wrong, and where known what was meant. */
  readonly message: string;
  /** A change of the text that corrects it, or null. */
  readonly fix: Fix | null;
}

/** A change of the text of a filter: `text` replaces what stands from `start` to `end`. */
export interface Fix extends Span {
  readonly text: string;
  /** Where in the message the words of the fix stand, so that they can be a button; null where they are not in it. */
  readonly label: Span | null;
}

/** What a filter looks like after a fix. */
export function applyFix(text: string, { start, end, text: replacement }: Fix): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Where a mistake is, and what would correct it. */
interface Place {
  readonly at: Span;
  readonly fix?: (Span & { readonly text: string }) | undefined;
}

/** Makes a mistake. Where there is a `label`, it stands between what is said before and after it. */
export function createMistake({ at, fix }: Place, before: string, label?: string, after = ""): FilterMistake {
  const shown = label === undefined ? "" : show(label);
  const place = label === undefined ? null : { start: before.length, end: before.length + shown.length };
  return {
    start: at.start,
    end: at.end,
    message: before + shown + after,
    fix: fix === undefined ? null : { start: fix.start, end: fix.end, text: fix.text, label: place },
  };
}

/** A piece of a filter as messages show it: nothing in it drives a terminal or hides text, and a long one is cut. */
export function show(text: string): string {
  return showText(text, MAX_SHOWN_CHARACTERS);
}

const MAX_SHOWN_CHARACTERS = 60;
