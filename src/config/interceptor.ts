import { describeMethod } from "../message/methods.ts";
import { nearest } from "../text/nearest.ts";
import { warnOfTool } from "./against-server.ts";
import { paths } from "./addresses.ts";
import { byKind, list, map, record } from "./collections.ts";
import { json } from "./json.ts";
import { checkMethodName } from "./methods.ts";
import { MODULE, MODULE_NAME } from "./modules.ts";
import { WRONG, type Wrong } from "./page.ts";
import { RULES } from "./rules.ts";
import type { InterceptorSettings, MethodInterceptorSettings, ModuleSettings } from "../rules/settings.ts";
import { warnOfUnjudged } from "./unjudged.ts";
import { warnOfHaste } from "./haste.ts";
import { warnOfShadows } from "./shadows.ts";
import { needed, optional, refine, type Shape } from "./shape.ts";
import { duration } from "./units.ts";
import { choice, flag, integer, text } from "./values.ts";

const CHAIN = map({
  fail_fast: optional(
    flag(),
    "Whether judging stops at the first refusal; otherwise the most restrictive decision wins.",
    true,
  ),
  parallel: optional(flag(), "Whether independent interceptors run at the same time.", false),
  timeout: optional(duration(), "How long judging a message may take; a message that takes longer is blocked.", 5000),
  default_action: optional(
    choice(["allow", "block"]),
    "What happens to a message that no rule matched.",
    "allow" as const,
  ),
  on_error: optional(
    choice(["block", "allow"]),
    "What happens to a message if the chain fails or takes too long.",
    "block" as const,
  ),
});

const TOOL_NAME = refine(text({ what: "a name" }), (name, node, page) => {
  warnOfTool(name, node, page);
  return name;
});

const TOOL_CALL = map({
  allowed_tools: optional(list(TOOL_NAME), "The only tools that may be called.", null),
  rate_limit: optional(
    map({ per_minute: needed(integer({ min: 1, max: 1_000_000_000 }), "Calls of each tool in a minute.") }),
    "How often.",
    null,
  ),
});

const RESOURCE_ACCESS = map({
  allowed_paths: optional(paths(), "The only directories to read from.", null),
  deny_patterns: optional(
    list(text({ what: "a glob such as *.key" })),
    "Globs of files that must not be read.",
    Object.freeze([]),
  ),
});

/** The built-in classes, each for one method. */
const CLASSES = {
  ToolCallInterceptor: {
    method: "tools/call",
    config: refine(TOOL_CALL, ({ allowedTools, rateLimit }): MethodInterceptorSettings =>
      Object.freeze({ kind: "tool-call", allowedTools, perMinute: rateLimit?.perMinute ?? null }),
    ),
    defaults: { kind: "tool-call", allowedTools: null, perMinute: null },
  },
  ResourceAccessInterceptor: {
    method: "resources/read",
    config: refine(RESOURCE_ACCESS, ({ allowedPaths, denyPatterns }): MethodInterceptorSettings =>
      Object.freeze({ kind: "resource-access", allowedPaths, denyPatterns }),
    ),
    defaults: { kind: "resource-access", allowedPaths: null, denyPatterns: [] },
  },
} satisfies Record<
  string,
  { method: string; config: Shape<MethodInterceptorSettings>; defaults: MethodInterceptorSettings }
>;

const CLASS_NAMES = Object.keys(CLASSES);

const OWN_CLASS = map({
  module: optional(MODULE_NAME, "The path of a module with your own class.", null),
  class: optional(
    text({ what: "the name of a class" }),
    `${CLASS_NAMES.join(", ")}, or the export of your module.`,
    null,
  ),
  config: optional(json(), "Its configuration.", null),
});

/** One interceptor for a method: a built-in or a user's class, with its configuration. */
const METHOD_INTERCEPTOR: Shape<MethodInterceptorSettings> = {
  what: "a class and its config",
  read(node, page): MethodInterceptorSettings | Wrong {
    const own = OWN_CLASS.read(node, page);
    if (own === WRONG || node.kind !== "map") return WRONG;
    if (own.module !== null) {
      return { kind: "module", module: own.module, export: own.class ?? "default", options: own.config };
    }
    const name = node.entries.find((entry) => entry.name === "class");
    if (own.class === null || name === undefined) {
      return page.wrong(
        node,
        "missing-key",
        `${page.name()} has neither class nor module`,
        `Add class: ${CLASS_NAMES.join(" or ")}`,
      );
    }
    if (!Object.hasOwn(CLASSES, own.class)) {
      const hint = nearest(own.class, CLASS_NAMES);
      const suggestion = hint === null ? "Give the module of your class with module" : `Did you mean ${hint}?`;
      return page.wrong(name.value, "wrong-value", `Unknown class: ${page.source.quote(name.value)}`, suggestion);
    }
    const { method, config, defaults } = CLASSES[own.class as keyof typeof CLASSES];
    if (page.path.at(-1) !== method) {
      return page.wrong(
        name.value,
        "never-matches",
        `${own.class} is for ${method} and has no effect here`,
        `Put it under ${method}`,
      );
    }
    const entry = node.entries.find((each) => each.name === "config");
    if (entry === undefined) return Object.freeze(defaults);
    page.path.push("config");
    const read = config.read(entry.value, page);
    page.path.pop();
    return read;
  },
  schema: () => ({
    ...OWN_CLASS.schema(),
    anyOf: [
      ...Object.entries(CLASSES).map(([name, { config }]) => ({
        properties: { class: { const: name }, config: config.schema() },
        required: ["class"],
        not: { required: ["module"] },
      })),
      { required: ["module"] },
    ],
  }),
};

const MODE = refine(choice(["mcp", "transport"]), (mode, node, page) => {
  if (mode === "transport") {
    const message = "mode: transport only relays: no rule and no interceptor is run";
    page.warn(node, "legacy-mode", message, "Write mode: mcp");
  }
  return mode;
});

const KEYS = map({
  enabled: optional(flag(), "Whether rules and interceptors are run at all.", true),
  mode: optional(MODE, "mcp judges messages; transport only relays them and runs no rule.", "mcp" as const),
  chain: optional(CHAIN, "How rules and interceptors are run.", CHAIN.defaults),
  rules: optional(RULES, "The rules.", Object.freeze([])),
  method_interceptors: optional(
    record(METHOD_INTERCEPTOR, {
      what: "interceptors by method",
      checkName(entry, page) {
        if (entry.name !== "" && describeMethod(entry.name) !== null) return checkMethodName(entry.name, entry, page);
        page.wrong(
          entry,
          "never-matches",
          `No message has the method ${page.source.quote(entry)}`,
          "Write a method such as tools/call",
        );
        return false;
      },
    }),
    "Interceptors for one method each.",
    new Map<string, MethodInterceptorSettings>(),
  ),
  interceptors: optional(
    list(
      byKind<ModuleSettings>(
        {
          map: MODULE,
          text: refine(MODULE_NAME, (module) => Object.freeze({ module, export: "default", options: null })),
        },
        "a module",
      ),
    ),
    "General interceptors, by module.",
    Object.freeze([]),
  ),
});

const shape = refine(KEYS, ({ chain, ...rest }, _, page): InterceptorSettings => {
  const { failFast, parallel, timeout, defaultAction, onError } = chain;
  warnOfShadows(rest.rules, failFast, page);
  warnOfHaste(rest.rules, timeout, page);
  const settings = Object.freeze({ failFast, parallel, timeoutMs: timeout, defaultAction, onError });
  warnOfUnjudged(rest.rules, settings, page);
  return { ...rest, chain: settings };
});

/** The section for rules and interceptors. */
export const INTERCEPTOR: Shape<InterceptorSettings> = shape;

/** The settings if the policy file does not have this section. */
export const NO_INTERCEPTOR: InterceptorSettings = Object.freeze({
  ...KEYS.defaults,
  chain: Object.freeze({ failFast: true, parallel: false, timeoutMs: 5000, defaultAction: "allow", onError: "block" }),
});
