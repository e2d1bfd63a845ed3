import { findMember } from "../../message/members.ts";
import type { Span } from "../../message/envelope.ts";
import { showText } from "../../message/text.ts";
import type { Call } from "../../session/call.ts";
import type { Catalogue } from "../../session/catalogue.ts";
import { nearestRevision, OWN_REVISION, REVISIONS } from "../../message/protocol.ts";
import type { Turn } from "../../session/turn.ts";
import type { Json } from "../../message/json.ts";
import type { Decision } from "../verdict.ts";
import { INPUT_REQUIRED, LIST_OF_TOOLS, resultShapes } from "./result-shapes.ts";
import { checkSchema } from "./schema-check.ts";

/** Checks responses of a server against the MCP specification, and against the output schemas of its tools. */
export interface ResultJudge {
  /** The decision about an invalid response; null if it is valid. `isFiltered` says whether tool lists are filtered. */
  judge(turn: Turn, isFiltered: boolean): Decision | null;
}

/** Options of a result judge. */
export interface ResultJudgeOptions {
  /** Called once for each tool whose output schema cannot be checked completely. */
  readonly onUnchecked: (tool: string, keywords: readonly string[]) => void;
}

/** Limit for the tools that are reported to `onUnchecked`. */
const MAX_TOLD = 1000;

/** Makes a judge, which all sessions can share. */
export function createResultJudge({ onUnchecked }: ResultJudgeOptions): ResultJudge {
  const outputs = new WeakMap<
    Catalogue,
    { readonly version: number; readonly schemas: Map<string, Json | undefined> }
  >();
  const told = new Set<string>();

  /** The output schema of a tool. Undefined if it has none, or is not known. */
  function outputOf(catalogue: Catalogue, tool: string): Json | undefined {
    let known = outputs.get(catalogue);
    if (known?.version !== catalogue.version) {
      known = { version: catalogue.version, schemas: new Map() };
      outputs.set(catalogue, known);
    }
    if (known.schemas.has(tool)) return known.schemas.get(tool);
    const raw = catalogue.tools.find(({ name }) => name === tool)?.raw;
    if (raw === undefined) return undefined; // nothing is cached for names that a client may invent
    const span = findMember(raw, { start: 0, end: raw.length }, "outputSchema");
    const schema = span === null ? undefined : parse(raw, span);
    known.schemas.set(tool, schema);
    return schema;
  }

  function judgeOutput(turn: Turn, call: Call, result: { readonly [key: string]: Json }): Decision | null {
    if (call.subject === null || result["isError"] === true) return null;
    const schema = outputOf(turn.session.catalogue(call.era), call.subject);
    if (schema === undefined) return null;
    // Tools, "Output Schema": servers must provide structured results that conform to it.
    const value = result["structuredContent"];
    if (value === undefined) return refuse("validate:output", "structuredContent is missing");
    const { fit, misfit, unchecked } = checkSchema(schema, value);
    if (fit === "no") return refuse("validate:output", `structuredContent: ${misfit ?? "it does not fit"}`);
    if (unchecked.length > 0 && !told.has(call.subject) && told.size < MAX_TOLD) {
      told.add(call.subject);
      onUnchecked(call.subject, unchecked);
    }
    return null;
  }

  return {
    judge(turn, isFiltered) {
      const { message, answers: call } = turn;
      const { bytes, envelope } = message;
      if (call === undefined || message.direction !== "down") return null;
      if (envelope.kind === "error") return judgeError(parse(bytes, envelope.error));
      if (envelope.kind !== "result") return null;
      const isStateless = call.era === "stateless";
      // After a restart of the proxy the agreed revision of a session is not known.
      const agreed = isStateless ? null : turn.session.revision();
      const revision = nearestRevision(agreed ?? OWN_REVISION[call.era]);
      const shapes = resultShapes(revision);
      const { name } = call.method;
      const shape = shapes.get(name === "tools/list" && isFiltered ? LIST_OF_TOOLS : name);
      if (shape === undefined) return null;
      const result = parse(bytes, envelope.result);
      const type = isStateless && isObject(result) ? result["resultType"] : "complete";
      // Extensions define other result types, which are not checked.
      if (typeof type === "string" && type !== "complete" && type !== INPUT_REQUIRED) return null;
      const meant = type === INPUT_REQUIRED ? (shapes.get(INPUT_REQUIRED) ?? shape) : shape;
      const { fit, misfit } = checkSchema(meant, result);
      if (fit === "no") return refuse("validate:result", misfit ?? "it does not fit");
      const hasOutput = name === "tools/call" && type === "complete" && REVISIONS[revision].structuredContent;
      if (!hasOutput || !isObject(result) || Object.hasOwn(result, "task")) return null;
      return judgeOutput(turn, call, result);
    },
  };
}

const ERROR: Json = {
  type: "object",
  required: ["code", "message"],
  properties: { code: { type: "integer" }, message: { type: "string" } },
};

function judgeError(error: Json): Decision | null {
  const { fit, misfit } = checkSchema(ERROR, error);
  return fit === "no" ? refuse("validate:result", `error: ${misfit ?? "it does not fit"}`) : null;
}

function refuse(rule: string, why: string): Decision {
  const error = { code: -32000, message: "Invalid response" };
  return { verdict: { do: "deny", error }, rule, why: showText(why, MAX_WHY_CHARACTERS) };
}

const MAX_WHY_CHARACTERS = 300;

/** Parses validated bytes. */
function parse(bytes: Buffer, { start, end }: Span): Json {
  return JSON.parse(bytes.toString("utf8", start, end)) as Json;
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
