/** Stateful MCP has a handshake and a session. In stateless MCP each request carries everything itself. */
export type Era = "stateful" | "stateless";

/** What a revision of the protocol supports. */
export interface RevisionTraits {
  readonly era: Era;
  /** Whether batches are allowed: several messages in one JSON array. */
  readonly batches: boolean;
  /** Whether tasks are part of the revision itself. Since 2026-07-28 they are an extension. */
  readonly tasks: boolean;
  /** Whether a tool may have an output schema and structured results. */
  readonly structuredContent: boolean;
}

const FIRST: RevisionTraits = { era: "stateful", batches: false, tasks: false, structuredContent: false };
const STRUCTURED: RevisionTraits = { ...FIRST, structuredContent: true };

/** Every known revision, oldest first. To support a new revision, add it here: other code asks for its traits. */
export const REVISIONS = {
  "2024-11-05": FIRST,
  "2025-03-26": { ...FIRST, batches: true },
  "2025-06-18": STRUCTURED,
  "2025-11-25": { ...STRUCTURED, tasks: true },
  "2026-07-28": { ...STRUCTURED, era: "stateless" },
} as const satisfies Readonly<Record<string, RevisionTraits>>;

/** A known revision. Revisions are dates, so they sort by age. */
export type Revision = keyof typeof REVISIONS;

/** The revision of the proxy's own requests and of examples. Also assumed if a session did not agree on one. */
export const OWN_REVISION: Readonly<Record<Era, Revision>> = { stateful: "2025-11-25", stateless: "2026-07-28" };

const NAMES = Object.keys(REVISIONS) as Revision[];
const FIRST_STATELESS = NAMES.find((name) => REVISIONS[name].era === "stateless") ?? "";

/** The newest known revision that is not newer than this one. An unknown revision is treated as the one before it. */
export function nearestRevision(revision: string): Revision {
  return NAMES.findLast((known) => known <= revision) ?? NAMES[0];
}

/** Whether batches are allowed in the revision that a session agreed on. */
export function allowsBatches(revision: string | null): boolean {
  return revision !== null && Object.hasOwn(REVISIONS, revision) && REVISIONS[revision as Revision].batches;
}

/** Whether a revision is stateless. Unknown later revisions count as stateless; peers decide in the same way. */
export function isStatelessRevision(revision: string): boolean {
  return revision >= FIRST_STATELESS;
}

/** The prefix of the protocol's own keys in `_meta`. */
export const META_PREFIX = "io.modelcontextprotocol/";

/** The protocol's keys in `_meta`. In the stateless era the first three describe the client in each request. */
export const META_KEYS = {
  protocolVersion: `${META_PREFIX}protocolVersion`,
  clientInfo: `${META_PREFIX}clientInfo`,
  clientCapabilities: `${META_PREFIX}clientCapabilities`,
  logLevel: `${META_PREFIX}logLevel`,
  subscriptionId: `${META_PREFIX}subscriptionId`,
  relatedTask: `${META_PREFIX}related-task`,
} as const;

/** The headers of Streamable HTTP, as the proxy writes them. Header names are compared in lower case. */
export const HEADERS = {
  session: "Mcp-Session-Id",
  version: "MCP-Protocol-Version",
  method: "Mcp-Method",
  name: "Mcp-Name",
} as const;

/** The headers of Streamable HTTP in lower case, for lookups. */
export const LOWER_HEADERS = {
  session: "mcp-session-id",
  version: "mcp-protocol-version",
  method: "mcp-method",
  name: "mcp-name",
} as const satisfies Readonly<Record<keyof typeof HEADERS, string>>;

/** The prefix of the headers for tool arguments, as the proxy writes it and in lower case. */
export const PARAM_HEADER = "Mcp-Param-";
export const LOWER_PARAM_HEADER = "mcp-param-";

/** The key in a tool's input schema that names the header for an argument. */
export const HEADER_ANNOTATION = "x-mcp-header";

/** The methods whose requests repeat their subject in a header, in the stateless era. */
export const NAMED_IN_HEADER: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);
