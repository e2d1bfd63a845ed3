/** How many columns of a terminal a text takes. Control characters are not in it any more. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += MARK.test(character) ? 0 : isWide(character.codePointAt(0) ?? 0) ? 2 : 1;
  return width;
}

/** A text with spaces behind or before it, so that it takes so many columns. */
export function pad(text: string, columns: number, side: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, columns - widthOf(text)));
  return side === "left" ? text + space : space + text;
}

/** The words of a text in lines of so many columns at the most. A longer word has a line to itself, and is cut into pieces. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((each) => cutToFit(each, columns))) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

/** How wide a terminal is: what it says, but never so narrow that nothing can be laid out. */
export function columnsOf({ columns = DEFAULT_COLUMNS }: { readonly columns?: number }): number {
  return Math.max(columns, MIN_COLUMNS);
}

const DEFAULT_COLUMNS = 80;
const MIN_COLUMNS = 20;

function cutToFit(word: string, columns: number): string[] {
  if (widthOf(word) <= columns) return [word];
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (widthOf(piece + character) > columns) {
      pieces.push(piece);
      piece = "";
    }
    piece += character;
  }
  return [...pieces, piece];
}

const ASCII = /^[ -~]*$/;
// What stands above or below the character before it.
const MARK = /^\p{M}$/u;

/** East Asian wide characters and emoji (UAX #11, in blocks). */
function isWide(point: number): boolean {
  return WIDE.some(([first, last]) => point >= first && point <= last);
}

const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
];
