import type { ClientHead } from "../link/http/client-head.ts";
import { findMember, readString } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import { readText } from "../message/text.ts";
import { HEADERS, isStatelessRevision, META_KEYS, PARAM_HEADER } from "../message/protocol.ts";
import type { Exchange, Presence } from "../session/exchange.ts";
import { encodeHeader } from "../session/header-text.ts";
import { composeParamHeaders } from "../session/param-headers.ts";
import { BODIES } from "./server-end.ts";

/**
 * What is known about the message in a client's request: what its headers say, and whether the client is still
 * connected.
 */
export function exchangeFor(head: ClientHead, presence: Presence): Exchange {
  const { protocolVersion: version, mcpMethod: method, mcpName: name, mcpParams: params } = head;
  return { ...BODIES, mirrored: { version, method, name, params }, presence };
}

/** The header lines that a stateless request must have, read from its body; null for a request of the older era. */
export function mirrorHeaders({ bytes, envelope }: Message, schemaOf: SchemaReader): string | null {
  if (envelope.kind !== "request" || envelope.params === null) return null;
  const meta = findMember(bytes, envelope.params, "_meta");
  const version = meta === null ? null : readString(bytes, findMember(bytes, meta, META_KEYS.protocolVersion));
  if (version === null || !isStatelessRevision(version) || !/^[\x21-\x7e]{1,64}$/.test(version)) return null;
  const { method, subject, params } = envelope;
  let lines = `${HEADERS.version}: ${version}\r\n${HEADERS.method}: ${encodeHeader(method.name)}\r\n`;
  if (subject === null) return lines;
  const name = readText(bytes, subject.start + 1, subject.end - 1);
  lines += `${HEADERS.name}: ${encodeHeader(name)}\r\n`;
  const definition = method.name === "tools/call" ? schemaOf(name) : null;
  if (definition === null) return lines;
  return lines + composeParamHeaders(definition, bytes, findMember(bytes, params, "arguments"));
}

/** A client's header lines, with those that repeat the body rewritten for this message; unchanged in the older era. */
export function mirrorAnew(lines: string, message: Message, schemaOf: SchemaReader): string {
  const mirrored = mirrorHeaders(message, schemaOf);
  return mirrored === null ? lines : lines.replaceAll(MIRRORED, "") + mirrored;
}

// The pattern for the name excludes line breaks, so that exactly one header line is removed and never the next one.
const MIRRORED = new RegExp(
  `^(?:${[HEADERS.version, HEADERS.method, HEADERS.name].join("|")}|${PARAM_HEADER}[^:\\r\\n]*):.*\\r\\n`,
  "gim",
);

/** Returns the JSON text of a tool's definition, if it is known. */
export type SchemaReader = (tool: string) => Buffer | null;
