import type { RequestEnvelope, Span } from "../message/envelope.ts";
import { findMember } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import { HEADER_ANNOTATION, PARAM_HEADER } from "../message/protocol.ts";
import { readText } from "../message/text.ts";
import type { Tool } from "./catalogue.ts";
import { decodeHeader, encodeHeader } from "./header-text.ts";

/** An argument of a tool that must be repeated in a header. */
interface Marked {
  /** The name of the header, as it is written. */
  readonly header: string;
  readonly path: readonly string[];
}

// Keyed by the bytes of the definition, so that an entry lives as long as a catalogue keeps those bytes.
const known = new WeakMap<Buffer, readonly Marked[]>();

/** The arguments that a tool's input schema marks with `x-mcp-header`, also in nested `properties`. */
function markedIn(definition: Buffer): readonly Marked[] {
  const seen = known.get(definition);
  if (seen !== undefined) return seen;
  const marked: Marked[] = [];
  const walk = (schema: unknown, path: readonly string[]): void => {
    const properties = member(schema, "properties");
    if (typeof properties !== "object" || properties === null || path.length > MAX_DEPTH) return;
    for (const [key, property] of Object.entries(properties)) {
      const name = member(property, HEADER_ANNOTATION);
      const here = [...path, key];
      if (typeof name === "string" && TOKEN.test(name)) marked.push({ header: PARAM_HEADER + name, path: here });
      walk(property, here);
    }
  };
  walk(member(JSON.parse(definition.toString("utf8")), "inputSchema"), []);
  known.set(definition, marked);
  return marked;
}

/** The header lines for a tool call, which repeat its marked arguments. */
export function composeParamHeaders(definition: Buffer, bytes: Buffer, args: Span | null): string {
  const marked = markedIn(definition);
  if (marked.length === 0 || args === null) return "";
  const given = read(bytes, args);
  return marked
    .map(({ header, path }) => {
      const value = valueAt(given, path);
      return isPrimitive(value) ? `${header}: ${encodeHeader(String(value))}\r\n` : "";
    })
    .join("");
}

/**
 * Whether the headers of a tool call agree with its arguments, if the tool is known. Headers that the tool does not
 * declare are not checked.
 */
export function callAgrees(
  { bytes }: Message,
  { method, subject, params }: RequestEnvelope,
  headers: readonly (readonly [string, string])[],
  tools: readonly Tool[],
): boolean {
  if (method.name !== "tools/call" || subject === null || params === null) return true;
  const called = readText(bytes, subject.start + 1, subject.end - 1);
  const tool = tools.find(({ name }) => name === called);
  const marked = tool === undefined ? [] : markedIn(tool.raw);
  if (marked.length === 0) return true;
  const args = findMember(bytes, params, "arguments");
  const given = args === null ? undefined : read(bytes, args);
  return marked.every(({ header, path }) => {
    const value = valueAt(given, path);
    const text = headers.find(([name]) => name === header.toLowerCase())?.[1];
    if (!isPrimitive(value)) return text === undefined;
    const said = text === undefined ? null : decodeHeader(text);
    if (said === null) return false;
    return typeof value === "number" ? said.trim() !== "" && Number(said) === value : said === String(value);
  });
}

const MAX_DEPTH = 16;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;

function read(bytes: Buffer, { start, end }: Span): unknown {
  return JSON.parse(bytes.toString("utf8", start, end));
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(member, value);
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
