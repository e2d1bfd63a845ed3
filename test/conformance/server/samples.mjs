/** A picture of one red pixel, as PNG. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/** A sound of no length, as WAV. */
export const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/** A content block of text. */
export function text(words) {
  return { type: "text", text: words };
}

/** A tool result of one block of text. */
export function says(words) {
  return { content: [text(words)] };
}
