/** Encodes a value as JSON on one line that cannot affect the terminal, whatever a peer put into it. */
export function safeJson(value: unknown): string {
  return escape(JSON.stringify(value));
}

/** The same over several lines, for people. */
export function safeJsonLines(value: unknown): string {
  // The only newlines in this text are those between lines.
  return JSON.stringify(value, null, 2).split("\n").map(escape).join("\n");
}

function escape(json: string): string {
  return PLAIN.test(json) ? json : json.replace(hazards(), escapeCharacter);
}

const PLAIN = /^[ -~]*$/;

// JSON.stringify has escaped C0 and lone surrogates. These are the other characters that can end a line, control a
// terminal, hide or reorder text: DEL, C1, Cf (bidi), Zl, Zp, and everything invisible.
let hazardous: RegExp | undefined;
function hazards(): RegExp {
  return (hazardous ??= /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu);
}

function escapeCharacter(character: string): string {
  let escaped = "";
  for (let at = 0; at < character.length; at++) {
    escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
