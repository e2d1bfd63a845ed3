/**
 * Removes characters that control a terminal, hide text or reorder it: control characters except tab and newline,
 * escape sequences, bidi marks, zero-width and tag characters, and lone surrogates. Line and paragraph separators
 * become newlines.
 */
export function stripControl(text: string): string {
  if (VISIBLE.test(text)) return text;
  const lines = SEPARATORS.test(text) ? text.replaceAll(SEPARATORS_ALL, "\n") : text;
  return (DRIVES.test(lines) ? lines.replaceAll(SEQUENCES, "") : lines).replaceAll(HIDDEN, "");
}

const VISIBLE = /^[ -~\n\t]*$/;
const SEPARATORS = /[\u2028\u2029\u0085]/;
const SEPARATORS_ALL = new RegExp(SEPARATORS, "g");

// ECMA-48: a control sequence; a device string with its terminator; any other escape. Without a terminator only the
// introducer is removed: otherwise one character could remove the rest of a text.
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const DRIVES = /[\u001b\u0090\u0098\u009b\u009d-\u009f]/;
const SEQUENCES =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009b-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g;

// All invisible characters, except tab and newline, and except Arabic and Kaithi signs that are visible around numbers.
const HIDDEN =
  /(?![\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
