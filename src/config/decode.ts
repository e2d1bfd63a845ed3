import { isUtf8 } from "node:buffer";
import type { Mistake } from "./mistake.ts";

/**
 * The text of a policy file, or the mistake if it is not valid UTF-8. An invalid byte would become U+FFFD, and a
 * pattern with that character would match other names.
 */
export function decodePolicy(bytes: Buffer, file: string): string | Mistake {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let line = 1;
  let start = 0;
  for (let end = bytes.indexOf(LF); end >= 0 && isUtf8(bytes.subarray(start, end)); end = bytes.indexOf(LF, start)) {
    line++;
    start = end + 1;
  }
  const text = bytes.toString("utf8", start, start + MAX_LINE_BYTES).split("\n", 1)[0];
  return {
    severity: "error",
    code: "syntax",
    file,
    line,
    column: text.indexOf("\uFFFD") + 1 || 1,
    path: "",
    message: "This is not UTF-8",
    suggestion: "Save the file as UTF-8",
    text: "",
    excerpt: { text: "", start: 0, length: 1 },
  };
}

const LF = 0x0a;
const MAX_LINE_BYTES = 4096;
