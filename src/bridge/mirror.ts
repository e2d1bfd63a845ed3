import { findMember, readString } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import { readText } from "../message/text.ts";
import { FIRST_STATELESS, VERSION_KEY } from "../session/era.ts";
import { encodeHeader } from "../session/mirrored.ts";

/** The header lines that a request of the stateless era needs, read off its body; null for one of the older era. */
export function mirrorHeaders({ bytes, envelope }: Message, schemaOf: SchemaReader): string | null {
  if (envelope.kind !== "request" || envelope.params === null) return null;
  const meta = findMember(bytes, envelope.params, "_meta");
  const version = meta === null ? null : readString(bytes, findMember(bytes, meta, VERSION_KEY));
  if (version === null || version < FIRST_STATELESS || !/^[\x21-\x7e]{1,64}$/.test(version)) return null;
  const { method, subject, params } = envelope;
  let lines = `MCP-Protocol-Version: ${version}\r\nMcp-Method: ${encodeHeader(method.name)}\r\n`;
  if (subject === null) return lines;
  const name = readText(bytes, subject.start + 1, subject.end - 1);
  lines += `Mcp-Name: ${encodeHeader(name)}\r\n`;
  const schema = method.name === "tools/call" ? schemaOf(name) : null;
  if (schema === null) return lines;
  const span = findMember(bytes, params, "arguments");
  if (span === null) return lines;
  const given: unknown = JSON.parse(bytes.toString("utf8", span.start, span.end));
  return lines + paramHeaders(schema, given);
}

/** The definition of a tool, where it is known: its JSON text. */
export type SchemaReader = (tool: string) => Buffer | null;

/** A header for each argument that the tool's schema marks, down chains of properties. */
function paramHeaders(tool: Buffer, given: unknown): string {
  let lines = "";
  const walk = (schema: unknown, value: unknown, depth: number): void => {
    const properties = member(schema, "properties");
    if (typeof properties !== "object" || properties === null || depth > MAX_DEPTH) return;
    for (const [key, property] of Object.entries(properties)) {
      const argument = member(value, key);
      const name = member(property, "x-mcp-header");
      if (typeof name === "string" && TOKEN.test(name) && isPrimitive(argument))
        lines += `Mcp-Param-${name}: ${encodeHeader(String(argument))}\r\n`;
      walk(property, argument, depth + 1);
    }
  };
  walk(member(JSON.parse(tool.toString("utf8")), "inputSchema"), given, 0);
  return lines;
}

const MAX_DEPTH = 16;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
