import { StringDecoder } from "node:string_decoder";

/** What a reader of event streams takes for an event. */
export interface ReadEvent {
  /** As the reader has it: "message" where the event has no name. */
  readonly name: string;
  readonly data: string;
}

/** Reads an event stream that arrives in these pieces. */
export type Reader = (pieces: readonly Buffer[]) => ReadEvent[];

/**
 * Readers as they are written in other languages. They differ in where a line ends, in how bytes become text, and in what
 * they make of lines that the standard tells them to ignore.
 */
export const READERS: Record<string, Reader> = {
  "the standard": (pieces) => standard(linesOf(decoded(pieces), /\r\n|\n|\r/)),
  "the standard, without skipping a byte order mark": (pieces) => standard(linesOf(utf8(pieces), /\r\n|\n|\r/)),
  "one that decodes each piece by itself": (pieces) =>
    standard(linesOf(pieces.map((piece) => piece.toString("utf8")).join(""), /\r\n|\n|\r/)),
  "httpx-sse over Python's splitlines": (pieces) => httpxSse(linesOf(utf8(pieces), PYTHON_LINE_END)),
  "node:readline": (pieces) => standard(linesOf(utf8(pieces), /\r\n|[\n\r\u2028\u2029]/)),
  "the SDK for Go over bufio.Scanner": (pieces) => goSdk(scannerLines(pieces)),
  "one in Go that trims lines and knows fields by how they begin": (pieces) => goPrefixes(scannerLines(pieces)),
};

/** Readers that take every line of data for a message. They miss what stands on several lines; they must not find more. */
export const LINE_READERS: Record<string, Reader> = {
  "one that takes each line of data for a message": (pieces) =>
    linesOf(utf8(pieces), /\r\n|\n|\r/).flatMap((line) => {
      const [, data = null] = /^\s*data:\s*(.*)$/i.exec(line) ?? [];
      return data === null ? [] : [{ name: "message", data }];
    }),
};

/** Where `str.splitlines` ends lines. */
// oxlint-disable-next-line no-control-regex -- that is what it is about
const PYTHON_LINE_END = new RegExp("\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]");

/** As a decoder does that skips a byte order mark. */
function decoded(pieces: readonly Buffer[]): string {
  return new TextDecoder().decode(Buffer.concat(pieces));
}

function utf8(pieces: readonly Buffer[]): string {
  const decoder = new StringDecoder("utf8");
  return pieces.map((piece) => decoder.write(piece)).join("") + decoder.end();
}

/** The lines that ended. What is left without an end does not count. */
function linesOf(text: string, ends: RegExp): string[] {
  return text.split(ends).slice(0, -1);
}

/** bufio.ScanLines: a line ends at LF, and one CR before it goes too. Bytes, because Go does not look at more. */
function scannerLines(pieces: readonly Buffer[]): string[] {
  const text = Buffer.concat(pieces).toString("latin1");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => line.replace(/\r$/, ""))
    .map((line) => Buffer.from(line, "latin1").toString("utf8"));
}

/** HTML standard, "Interpreting an event stream". */
function standard(lines: readonly string[]): ReadEvent[] {
  const events: ReadEvent[] = [];
  let name = "";
  let data: string[] = [];
  for (const line of lines) {
    if (line === "") {
      if (data.length > 0 && data.join("\n") !== "") events.push({ name: name || "message", data: data.join("\n") });
      name = "";
      data = [];
      continue;
    }
    const [field, value] = cut(line);
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
  }
  return events;
}

/** Says an event also where there is only a name or an id. */
function httpxSse(lines: readonly string[]): ReadEvent[] {
  const events: ReadEvent[] = [];
  let name = "";
  let data: string[] = [];
  let lastId = "";
  let hasRetry = false;
  for (const line of lines) {
    if (line === "") {
      if (name !== "" || data.length > 0 || lastId !== "" || hasRetry) {
        events.push({ name: name || "message", data: data.join("\n") });
      }
      name = "";
      data = [];
      hasRetry = false;
      continue;
    }
    if (line.startsWith(":")) continue;
    const [field, value] = cut(line);
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (field === "id" && !value.includes("\0")) lastId = value;
    else if (field === "retry" && /^\s*[+-]?\d[\d_]*\s*$/.test(value)) hasRetry = true;
  }
  return events;
}

/** Ends at the first line without a colon, and trims values. */
function goSdk(lines: readonly string[]): ReadEvent[] {
  const events: ReadEvent[] = [];
  let name = "";
  let data: string | null = null;
  for (const line of lines) {
    if (line === "") {
      if (name !== "" || data !== null) events.push({ name: name || "message", data: data ?? "" });
      name = "";
      data = null;
      continue;
    }
    const colon = line.indexOf(":");
    if (colon < 0) return events;
    const value = line.slice(colon + 1).trim();
    if (line.slice(0, colon) === "event") name = value;
    else if (line.slice(0, colon) === "data") data = data === null ? value : `${data}\n${value}`;
  }
  return events;
}

function goPrefixes(lines: readonly string[]): ReadEvent[] {
  const events: ReadEvent[] = [];
  let name = "";
  let data = "";
  for (const each of lines) {
    const line = each.trim();
    if (line === "") {
      if (data !== "") events.push({ name: name || "message", data });
      name = "";
      data = "";
    } else if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += data === "" ? line.slice(5).trim() : `\n${line.slice(5).trim()}`;
  }
  return events;
}

function cut(line: string): [field: string, value: string] {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
