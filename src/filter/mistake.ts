import { showText } from "../message/text.ts";
import type { Span } from "./filter.ts";

/** A mistake in a filter. */
export interface FilterMistake extends Span {
  /** What is wrong and, if known, what was meant. */
  readonly message: string;
  /** An edit of the text that corrects the mistake, or null. */
  readonly fix: Fix | null;
}

/** An edit of a filter: `text` replaces the range from `start` to `end`. */
export interface Fix extends Span {
  readonly text: string;
  /**
   * The range in the message that shows the fix, so that it can be made a button; null if the message does not show it.
   */
  readonly label: Span | null;
}

/** The text of a filter after a fix. */
export function applyFix(text: string, { start, end, text: replacement }: Fix): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** The range of a mistake, and its fix. */
interface Place {
  readonly at: Span;
  readonly fix?: (Span & { readonly text: string }) | undefined;
}

/** Creates a mistake. Its message is `before`, `label` and `after`. */
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

/**
 * A part of a filter for use in a message: shortened, and with characters escaped that could control a terminal or hide
 * text.
 */
export function show(text: string): string {
  return showText(text, MAX_SHOWN_CHARACTERS);
}

const MAX_SHOWN_CHARACTERS = 60;
