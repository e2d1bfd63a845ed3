import type { Json } from "../../message/json.ts";
import { type Revision, REVISIONS } from "../../message/protocol.ts";
import { KINDS } from "./schema-values.ts";

/** JSON Schemas for the results of a revision, by method. The results of other methods are not checked. */
export function resultShapes(revision: Revision): ReadonlyMap<string, Json> {
  const known = made.get(revision) ?? makeShapes(revision);
  made.set(revision, known);
  return known;
}

const made = new Map<Revision, ReadonlyMap<string, Json>>();

/** The shape of a tool list without its entries. In a filtered list, invalid entries are hidden one by one. */
export const LIST_OF_TOOLS = "tools/list, filtered";

/** The shape of a result that asks the client for input first, since 2026-07-28. */
export const INPUT_REQUIRED = "input_required";

type Members = { readonly [name: string]: Json };

const TEXT: Json = { type: "string" };
const FLAG: Json = { type: "boolean" };
const INTEGER: Json = { type: "integer" };
const OBJECT: Json = { type: "object" };
const ROLE: Json = { enum: ["user", "assistant"] };

function object(required: Members, optional: Members = {}): Json {
  return { type: "object", required: Object.keys(required), properties: { ...required, ...optional } };
}

function listOf(items: Json, more: Members = {}): Json {
  return { type: "array", items, ...more };
}

/** One of several kinds of objects, which are told apart by their `type`. */
function kinds(byType: Members): Json {
  return { [KINDS]: byType } as Json;
}

/** A value that fits the condition must also fit the shape. */
function when(condition: Json, shape: Json): Json {
  return { if: { not: condition }, else: shape };
}

function makeShapes(revision: Revision): ReadonlyMap<string, Json> {
  const since = (first: Revision, members: Members): Members => (revision >= first ? members : {});
  const { era, tasks: hasTasks } = REVISIONS[revision];
  const isStateless = era === "stateless";
  const annotations: Json = object(
    {},
    {
      audience: listOf(ROLE),
      priority: { type: "number", minimum: 0, maximum: 1 },
      ...since("2025-06-18", { lastModified: TEXT }),
    },
  );
  /** What MCP requires of the JSON Schema of an object. */
  const schema: Json = object(
    { type: { const: "object" } },
    isStateless
      ? { $schema: TEXT }
      : { properties: { type: "object", additionalProperties: OBJECT }, required: listOf(TEXT) },
  );
  const icons = listOf(
    object({ src: TEXT }, { mimeType: TEXT, sizes: listOf(TEXT), theme: { enum: ["light", "dark"] } }),
  );
  const meta = since("2025-06-18", { _meta: OBJECT });
  /** The optional members of everything that has a name. */
  const named: Members = {
    description: TEXT,
    ...since("2025-06-18", { title: TEXT }),
    ...since("2025-11-25", { icons }),
    ...meta,
  };
  const resource = { ...named, mimeType: TEXT, annotations };
  const about = { mimeType: TEXT, ...meta };
  // `anyOf`, because contents with both `text` and `blob` fit both shapes of MCP's schema.
  const contents: Json = {
    ...(object({ uri: TEXT }, about) as Members),
    anyOf: [object({ text: TEXT }), object({ blob: TEXT })],
  };
  const media = object({ data: TEXT, mimeType: TEXT }, { annotations, ...meta });
  const content = kinds({
    text: object({ text: TEXT }, { annotations, ...meta }),
    image: media,
    ...since("2025-03-26", { audio: media }),
    resource: object({ resource: contents }, { annotations, ...meta }),
    ...since("2025-06-18", { resource_link: object({ uri: TEXT, name: TEXT }, { ...resource, size: INTEGER }) }),
  });
  const implementation = object(
    { name: TEXT, version: TEXT },
    {
      ...since("2025-06-18", { title: TEXT }),
      ...since("2025-11-25", { description: TEXT, websiteUrl: TEXT, icons }),
    },
  );
  const changing = object({}, { listChanged: FLAG });
  const capabilities = object(
    {},
    {
      experimental: { type: "object", additionalProperties: OBJECT },
      logging: OBJECT,
      prompts: changing,
      resources: object({}, { listChanged: FLAG, subscribe: FLAG }),
      tools: changing,
      ...since("2025-03-26", { completions: OBJECT }),
      ...(hasTasks ? { tasks: OBJECT } : {}),
      ...since("2026-07-28", { extensions: { type: "object", additionalProperties: OBJECT } }),
    },
  );
  const tool = object(
    { name: TEXT, inputSchema: schema },
    {
      ...named,
      ...since("2025-03-26", {
        annotations: object(
          {},
          { title: TEXT, readOnlyHint: FLAG, destructiveHint: FLAG, idempotentHint: FLAG, openWorldHint: FLAG },
        ),
      }),
      ...since("2025-06-18", { outputSchema: isStateless ? OBJECT : schema }),
      ...(hasTasks ? { execution: object({}, { taskSupport: { enum: ["forbidden", "optional", "required"] } }) } : {}),
    },
  );
  const argument = object({ name: TEXT }, { ...named, required: FLAG });
  const task = object(
    {
      taskId: TEXT,
      status: { enum: ["working", "input_required", "completed", "failed", "cancelled"] },
      createdAt: TEXT,
      lastUpdatedAt: TEXT,
      ttl: { type: ["integer", "null"] },
    },
    { pollInterval: INTEGER, statusMessage: TEXT },
  );

  /** Since 2026-07-28 every result has a `resultType`, and a cacheable one says how long it may be cached. */
  const result = (required: Members, optional: Members = {}): Json =>
    object({ ...required, ...(isStateless ? { resultType: TEXT } : {}) }, { ...optional, _meta: OBJECT });
  const cacheable = (required: Members, optional: Members = {}): Json =>
    result(
      isStateless
        ? { ...required, ttlMs: { type: "integer", minimum: 0 }, cacheScope: { enum: ["public", "private"] } }
        : required,
      optional,
    );
  const page = (name: string, item: Json): Json => cacheable({ [name]: listOf(item) }, { nextCursor: TEXT });
  const structured: Json = isStateless ? true : OBJECT;
  const called = result(
    { content: listOf(content) },
    { isError: FLAG, ...since("2025-06-18", { structuredContent: structured }) },
  );
  const started = result({ task });

  const questions: Json = {
    type: "object",
    additionalProperties: object({ method: { enum: ["sampling/createMessage", "elicitation/create", "roots/list"] } }),
  };
  const shapes: Members = {
    "tools/list": page("tools", tool),
    [LIST_OF_TOOLS]: page("tools", true),
    // The result is a started task if the request asked for one.
    "tools/call": hasTasks
      ? { allOf: [when({ required: ["task"] }, started), when({ not: { required: ["task"] } }, called)] }
      : called,
    "prompts/list": page("prompts", object({ name: TEXT }, { ...named, arguments: listOf(argument) })),
    "prompts/get": result({ messages: listOf(object({ role: ROLE, content })) }, { description: TEXT }),
    "resources/list": page("resources", object({ uri: TEXT, name: TEXT }, { ...resource, size: INTEGER })),
    "resources/templates/list": page("resourceTemplates", object({ uriTemplate: TEXT, name: TEXT }, resource)),
    "resources/read": cacheable({ contents: listOf(contents) }),
    "completion/complete": result({
      completion: object(
        { values: listOf(TEXT, since("2026-07-28", { maxItems: 100 })) },
        { total: INTEGER, hasMore: FLAG },
      ),
    }),
    ...(isStateless
      ? {
          "server/discover": cacheable({ supportedVersions: listOf(TEXT), capabilities }, { instructions: TEXT }),
          [INPUT_REQUIRED]: result({}, { inputRequests: questions, requestState: TEXT }),
        }
      : {
          initialize: result(
            { protocolVersion: TEXT, capabilities, serverInfo: implementation },
            { instructions: TEXT },
          ),
          ping: result({}),
          "logging/setLevel": result({}),
          "resources/subscribe": result({}),
          "resources/unsubscribe": result({}),
        }),
    ...(hasTasks
      ? {
          "tasks/get": { allOf: [result({}), task] },
          "tasks/cancel": { allOf: [result({}), task] },
          "tasks/list": result({ tasks: listOf(task) }, { nextCursor: TEXT }),
          "tasks/result": result({}),
        }
      : {}),
  };
  return new Map(Object.entries(shapes));
}
