/** Bytes that end a run of plain characters in a JSON string: control characters, the quote, the backslash. */
export const ENDS_RUN = new Uint8Array(256);
for (let byte = 0; byte < 0x20; byte++) ENDS_RUN[byte] = 1;
ENDS_RUN[0x22] = 1;
ENDS_RUN[0x5c] = 1;

/** What may follow a backslash: 1 for the short escapes, 2 for `u`. */
export const ESCAPE = new Uint8Array(256);
for (const letter of '"\\/bfnrt') ESCAPE[letter.charCodeAt(0)] = 1;
ESCAPE["u".charCodeAt(0)] = 2;

/** Hexadecimal digits. */
export const HEX = new Uint8Array(256);
for (const digit of "0123456789abcdefABCDEF") HEX[digit.charCodeAt(0)] = 1;

/** The bytes of the JSON grammar, by name. */
export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
