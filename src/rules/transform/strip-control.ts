/**
 * A text without what drives a terminal, hides or reorders: control characters but for tab and newline, escape sequences,
 * bidi marks, zero-width and tag characters, and half a character. What separates lines is a newline then.
 */
export function stripControl(text: string): string {
  if (VISIBLE.test(text)) return text;
  const lines = SEPARATORS.test(text) ? text.replaceAll(SEPARATORS_ALL, "\n") : text;
  return (DRIVES.test(lines) ? lines.replaceAll(SEQUENCES, "") : lines).replaceAll(HIDDEN, "");
}

const VISIBLE = /^[ -~\n\t]*$/;
const SEPARATORS = /[\u2028\u2029\u0085]/;
const SEPARATORS_ALL = new RegExp(SEPARATORS, "g");

// ECMA-48: a control sequence; a string for the device, with its end; any other escape. Without an end only the
// beginning goes: otherwise one character could take the rest of a text with it.
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const DRIVES = /[\u001b\u0090\u0098\u009b\u009d-\u009f]/;
const SEQUENCES =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009b-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g;

// All that shows nothing; but for tab and newline, and for signs of Arabic and Kaithi that are seen around numbers.
const HIDDEN =
  /(?![\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
