import type { ClientHead } from "../link/http/client-head.ts";
import { findMember, readString } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import { readText } from "../message/text.ts";
import { HEADERS, isStatelessRevision, META_KEYS, PARAM_HEADER } from "../message/protocol.ts";
import type { Exchange, Presence } from "../session/exchange.ts";
import { encodeHeader } from "../session/header-text.ts";
import { composeParamHeaders } from "../session/param-headers.ts";
import { BODIES } from "./server-end.ts";

/** What is known of a message in the body of a client's request: what its headers say about it, and who waits for the response. */
export function exchangeFor(head: ClientHead, presence: Presence): Exchange {
  const { protocolVersion: version, mcpMethod: method, mcpName: name, mcpParams: params } = head;
  return { ...BODIES, mirrored: { version, method, name, params }, presence };
}

/** The header lines that a request of the stateless era needs, read off its body; null for one of the older era. */
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

/** Header lines of a client with those that mirror the body made for this message; unchanged for one of the older era. */
export function mirrorAnew(lines: string, message: Message, schemaOf: SchemaReader): string {
  const mirrored = mirrorHeaders(message, schemaOf);
  return mirrored === null ? lines : lines.replaceAll(MIRRORED, "") + mirrored;
}

// A name without a line break: what is removed is one line, and never the next one.
const MIRRORED = new RegExp(
  `^(?:${[HEADERS.version, HEADERS.method, HEADERS.name].join("|")}|${PARAM_HEADER}[^:\\r\\n]*):.*\\r\\n`,
  "gim",
);

/** The definition of a tool, where it is known: its JSON text. */
export type SchemaReader = (tool: string) => Buffer | null;
