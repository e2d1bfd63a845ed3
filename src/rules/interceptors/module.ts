import { type Change, problem } from "../../action/change.ts";
import { encodeJson } from "../../action/encode.ts";
import { follow } from "../../action/follow.ts";
import type { Edit } from "../../message/edit.ts";
import { showText } from "../../message/text.ts";
import type { Part } from "../fields.ts";
import type { Json } from "../../message/json.ts";
import { countsOf } from "../../store/sessions.ts";
import type { Step, StepAnswer, StepContext } from "../chain/step.ts";
import type { Stop } from "../chain/stop.ts";
import { BLOCKED } from "../chain/walk.ts";
import { blocked } from "./blocked.ts";
import type { Intercepted, Interceptor, InterceptResult, MethodInterceptor } from "./interceptor.ts";

/** The location and the options of a user's interceptor. */
export interface ModuleOptions {
  readonly module: string;
  /** The module as written in the policy file. Clients are told this name and not the path on this machine. */
  readonly written?: string;
  readonly export: string;
  readonly options: Json;
}

/** Loads an interceptor for all messages. Rejects, with a message for people, if there is none. */
export async function loadInterceptor(where: ModuleOptions, folder: string): Promise<Step> {
  const made = await make(where, folder, "intercept");
  const name = nameOf(where);
  return createInterceptorStep(
    name,
    typeof made === "function" ? { intercept: made as Interceptor["intercept"] } : (made as Interceptor),
  );
}

/** Loads an interceptor for one method. */
export async function loadMethodInterceptor(method: string, where: ModuleOptions, folder: string): Promise<Step> {
  const made = (await make(where, folder, "interceptRequest", "interceptResponse")) as MethodInterceptor;
  return createMethodStep(nameOf(where), method, made);
}

/** Creates a step from an interceptor. */
export function createInterceptorStep(name: string, interceptor: Interceptor): Step {
  const methods = interceptor.methods === undefined ? null : new Set(interceptor.methods);
  return {
    name: `interceptor:${name}`,
    concerns: (_, method) => methods === null || (method !== null && methods.has(method)),
    intercept: (stop, context) => heed(name, stop, interceptor.intercept(present(stop, context))),
  };
}

/** Creates a step from an interceptor for one method, with one hook for requests and one for responses. */
function createMethodStep(name: string, method: string, interceptor: MethodInterceptor): Step {
  const asks = typeof interceptor.interceptRequest === "function";
  const hears = typeof interceptor.interceptResponse === "function";
  return {
    name: `interceptor:${name}`,
    concerns: (moment, each) => each === method && (moment === "said" ? asks : hears),
    intercept(stop, context) {
      const message = present(stop, context);
      const result =
        stop.moment === "said"
          ? interceptor.interceptRequest?.(message.params, message)
          : interceptor.interceptResponse?.(message.result, message);
      return heed(name, stop, result);
    },
  };
}

async function make(where: ModuleOptions, folder: string, ...hooks: string[]): Promise<unknown> {
  const { importModule } = await import("../import-module.ts");
  const loaded = await importModule(where.module, folder);
  const found = Object.hasOwn(loaded, where.export) ? loaded[where.export] : undefined;
  if (typeof found === "function") {
    const { prototype } = found as { prototype?: object };
    const isClass = prototype !== undefined && hooks.some((hook) => hook in prototype);
    // A copy of the options, so that what the class does to them affects nothing else.
    if (isClass) return new (found as new (options: unknown) => object)(plain(where.options));
    if (hooks.includes("intercept")) {
      if (where.options !== null) throw new Error(`${nameOf(where)} is a function, and options are for classes`);
      return found;
    }
  } else if (typeof found === "object" && found !== null && hooks.some((hook) => hook in found)) return found;
  throw new Error(`${where.module} exports no ${where.export} with ${hooks.join(" or ")}`);
}

function nameOf(where: ModuleOptions): string {
  return where.export === "default" ? (where.written ?? where.module) : where.export;
}

function plain(options: Json): unknown {
  const text = encodeJson(options);
  return text === null ? null : (JSON.parse(text) as unknown);
}

/** The message as a user's code sees it: copies of its values, made when they are read. */
function present({ view }: Stop, { session, signal }: StepContext): Intercepted {
  const { kind, direction, method, tool, client, identity } = view;
  return {
    kind,
    direction,
    method,
    tool: tool ?? null,
    client,
    identity,
    get params() {
      return parse(view.params);
    },
    get result() {
      return parse(view.result);
    },
    get error() {
      return parse(view.error);
    },
    get signal() {
      return signal();
    },
    session: {
      id: session.id,
      mcpSessionId: view.mcpSession,
      get messageCount() {
        return session.messages;
      },
      get methodStats() {
        return countsOf(session.methods);
      },
      get ageMs() {
        return session.ageMs();
      },
      calls: (name) => session.calls(name ?? null),
      get: (key) => session.state.get(key),
      set: (key, value) => session.note(key, value as Json | undefined),
    },
  };
}

function parse(part: Part | null | undefined): unknown {
  return part === null || part === undefined
    ? undefined
    : (JSON.parse(part.bytes.toString("utf8", part.start, part.end)) as unknown);
}

function heed(
  name: string,
  stop: Stop,
  result: InterceptResult | Promise<InterceptResult> | undefined,
): StepAnswer | Promise<StepAnswer> {
  const isLater = typeof result === "object" && result !== null && "then" in result;
  return isLater ? Promise.resolve(result).then((settled) => read(name, stop, settled)) : read(name, stop, result);
}

function read(name: string, stop: Stop, result: InterceptResult | undefined): StepAnswer {
  if (result === undefined || result === null) return null;
  const { action } = result;
  switch (action) {
    case "allow":
      return null;
    case "block": {
      const { reason = "Blocked by policy", code = BLOCKED } = result;
      if (!Number.isInteger(code)) throw new Error("the code of a refusal is a whole number");
      return blocked(name, showText(reason, MAX_REASON_CHARACTERS), {}, code);
    }
    case "modify":
      return { change: change(stop, result) };
    default:
      throw new Error("it returned none of allow, block and modify");
  }
}

const MAX_REASON_CHARACTERS = 500;

function change({ view }: Stop, result: Extract<InterceptResult, { action: "modify" }>): Change {
  const edits: Edit[] = [];
  for (const section of ["params", "result", "error"] as const) {
    if (!(section in result)) continue;
    const part = view[section];
    const text = encodeJson(result[section]);
    const isOwn =
      section === "params" ? view.kind === "request" || view.kind === "notification" : view.kind === section;
    if (!isOwn || part === null || part === undefined) return problem(`it has no ${section} to change`);
    if (text === null) return problem(`the new ${section} cannot be written as JSON`);
    if (section !== "result" && !text.startsWith("{")) return problem(`its ${section} have to be an object`);
    const wanted = Buffer.from(text);
    edits.push(...follow({ bytes: part.bytes, span: part }, { bytes: wanted, span: { start: 0, end: wanted.length } }));
  }
  return { edits };
}
