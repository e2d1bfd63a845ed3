/** How many terminal columns a text takes. Control characters must have been removed. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += MARK.test(character) ? 0 : isWide(character.codePointAt(0) ?? 0) ? 2 : 1;
  return width;
}

/** Pads a text with spaces to a number of columns. */
export function pad(text: string, columns: number, side: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, columns - widthOf(text)));
  return side === "left" ? text + space : space + text;
}

/** Wraps a text to lines of at most `columns` columns. A word that is too long is cut. */
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

/** The width of a terminal, but at least the minimum for a usable layout. */
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
// A combining mark, which takes no column of its own.
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
