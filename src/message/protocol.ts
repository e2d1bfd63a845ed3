/** How MCP is spoken: with a handshake and a session, or with everything in each request. */
export type Era = "stateful" | "stateless";

/** What a revision of the protocol has. */
export interface RevisionTraits {
  readonly era: Era;
  /** Whether several messages may come in one JSON array. */
  readonly batches: boolean;
  /** Whether tasks belong to the revision itself. Since 2026-07-28 they are an extension. */
  readonly tasks: boolean;
  /** Whether a tool may say what its results look like. */
  readonly structuredContent: boolean;
}

const FIRST: RevisionTraits = { era: "stateful", batches: false, tasks: false, structuredContent: false };
const STRUCTURED: RevisionTraits = { ...FIRST, structuredContent: true };

/** Every revision that is known, oldest first. A new one begins here: whatever depends on it asks for its traits. */
export const REVISIONS = {
  "2024-11-05": FIRST,
  "2025-03-26": { ...FIRST, batches: true },
  "2025-06-18": STRUCTURED,
  "2025-11-25": { ...STRUCTURED, tasks: true },
  "2026-07-28": { ...STRUCTURED, era: "stateless" },
} as const satisfies Readonly<Record<string, RevisionTraits>>;

/** A known revision. Revisions are dates, so later ones sort behind earlier ones. */
export type Revision = keyof typeof REVISIONS;

/** The revision that we speak ourselves, to servers and in examples; also assumed where a session agreed on none. */
export const OWN_REVISION: Readonly<Record<Era, Revision>> = { stateful: "2025-11-25", stateless: "2026-07-28" };

const NAMES = Object.keys(REVISIONS) as Revision[];
const FIRST_STATELESS = NAMES.find((name) => REVISIONS[name].era === "stateless") ?? "";

/** The newest known revision that is not newer than this one: an unknown one is taken for the one before it. */
export function nearestRevision(revision: string): Revision {
  return NAMES.findLast((known) => known <= revision) ?? NAMES[0];
}

/** Whether several messages may come in one JSON array, by the revision that a session agreed on. */
export function allowsBatches(revision: string | null): boolean {
  return revision !== null && Object.hasOwn(REVISIONS, revision) && REVISIONS[revision as Revision].batches;
}

/** Whether a revision is of the stateless era. Unknown later ones are taken to be, as peers do. */
export function isStatelessRevision(revision: string): boolean {
  return revision >= FIRST_STATELESS;
}

/** What the protocol's own keys in `_meta` begin with. */
export const META_PREFIX = "io.modelcontextprotocol/";

/** The protocol's keys in `_meta`. In the stateless era a request says by the first three who asks, and how. */
export const META_KEYS = {
  protocolVersion: `${META_PREFIX}protocolVersion`,
  clientInfo: `${META_PREFIX}clientInfo`,
  clientCapabilities: `${META_PREFIX}clientCapabilities`,
  logLevel: `${META_PREFIX}logLevel`,
  subscriptionId: `${META_PREFIX}subscriptionId`,
  relatedTask: `${META_PREFIX}related-task`,
} as const;

/** The headers of Streamable HTTP, as they are written. Names of headers are compared in lower case. */
export const HEADERS = {
  session: "Mcp-Session-Id",
  version: "MCP-Protocol-Version",
  method: "Mcp-Method",
  name: "Mcp-Name",
} as const;

/** The same in lower case, as they are looked up. */
export const LOWER_HEADERS = {
  session: "mcp-session-id",
  version: "mcp-protocol-version",
  method: "mcp-method",
  name: "mcp-name",
} as const satisfies Readonly<Record<keyof typeof HEADERS, string>>;

/** What the headers for arguments of tools begin with, as it is written and in lower case. */
export const PARAM_HEADER = "Mcp-Param-";
export const LOWER_PARAM_HEADER = "mcp-param-";

/** The key in a tool's input schema that names the header for an argument. */
export const HEADER_ANNOTATION = "x-mcp-header";

/** The methods whose requests name their subject in a header, too, in the stateless era. */
export const NAMED_IN_HEADER: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);
