import { MAX_DEPTH } from "../message/scan.ts";
import { AUDIT_FIELDS } from "../record/audit/fields.ts";
import { place, url } from "./addresses.ts";
import { byKind, headOf, list, map, type Meanings } from "./collections.ts";
import { INTERCEPTOR, NO_INTERCEPTOR } from "./interceptor.ts";
import { ANOMALY, DASHBOARD, EXPERIMENTS, METRICS, RECORD, TRACING } from "./later.ts";
import type { Wrong } from "./page.ts";
import { IDENTITY_HEADER } from "./identity-header.ts";
import { namePatterns } from "./patterns.ts";
import type { AuthSettings, PinSettings, PolicySettings, ResourceSettings, StateSettings } from "./settings.ts";
import { later, needed, optional, refine, type Shape } from "./shape.ts";
import { duration, size } from "./units.ts";
import { ARGUMENTS, UPSTREAM } from "./upstream.ts";
import { choice, integer, text } from "./values.ts";

// Every key of a policy file is defined here or in the tables used here: its values, its meaning, and its description
// in the JSON Schema.

const NONE = Object.freeze([]);
const FILE = text({ what: "the path of a file" });
/** With a lower limit, the handshake itself would be refused. */
const LEAST_DEPTH = 8;
const COUNT = integer({ min: 1, max: 1_000_000_000 });

const NAMES = {
  deny: optional(
    namePatterns("deny"),
    "Regular expressions. Everything that matches one of them is hidden and refused.",
    NONE,
  ),
  allow: optional(
    namePatterns("allow"),
    "Regular expressions. Only entries that match one of them are shown; deny overrides allow.",
    NONE,
  ),
};

const PIN_KEYS = map({
  file: needed(FILE, "The lock file."),
  on_change: optional(
    choice(["hide", "flag"]),
    "What happens to a tool that is new or differs from the accepted definition: it is hidden until you accept it, or only logged.",
    "hide" as const,
  ),
});
const PIN = byKind<PinSettings>(
  { text: refine(FILE, (file) => Object.freeze({ file, onChange: "hide" as const })), map: PIN_KEYS },
  "the path of a file, or a map of keys",
);

const TOOLS = map({
  ...NAMES,
  cache: optional(choice(["startup", "session"]), "Whether the tool list is fetched once, or for each session.", null),
  refresh: optional(
    choice(["never", "on_change"]),
    "Whether the tool list is fetched again when the server reports a change.",
    null,
  ),
  not_found: optional(
    choice(["contract", "spec", "upstream"]),
    "How a call of a hidden or unknown tool is answered.",
    null,
  ),
  hide: optional(
    choice(["plain", "strict"]),
    "strict also removes hidden names from errors, completions and logs.",
    null,
  ),
  pin: optional(PIN, "The lock file with the accepted definition of every tool.", null),
});
const PROMPTS = map(NAMES);
const RESOURCES_KEYS = map({
  ...NAMES,
  links: optional(
    choice(["keep", "cut", "block"]),
    "What happens to links to hidden resources in the results of tools and prompts.",
    null,
  ),
});
const RESOURCES: Shape<ResourceSettings> & { readonly defaults: ResourceSettings } = {
  ...refine(RESOURCES_KEYS, (settings, node, page) => {
    const { deny, allow, links } = settings;
    const key = node.kind === "map" ? node.entries.find(({ name }) => name === "links") : undefined;
    if (key !== undefined && links !== null && links !== "keep" && deny.length + allow.length === 0)
      page.warn(key, "no-effect", `links: ${links} has no effect: no resource is hidden`, "Add deny or allow");
    return settings;
  }),
  defaults: RESOURCES_KEYS.defaults,
};

const LIMITS = map({
  max_message: optional(size(), "Bytes of one message; 10MB by default.", null),
  max_depth: optional(
    integer({ min: LEAST_DEPTH, max: MAX_DEPTH }),
    "How deeply a message may be nested; 128 by default, which is also the maximum.",
    null,
  ),
  max_buffer: optional(
    size(),
    "How many bytes of a message that is too large are read before Fairlead gives up on it; 20MB by default.",
    null,
  ),
  max_open_calls: optional(COUNT, "Requests that may wait for a response at the same time, in each direction.", null),
  max_sessions: optional(COUNT, "Sessions of HTTP clients.", null),
  max_parked: optional(
    size(),
    "Bytes of messages that wait for Fairlead, such as for a webhook or the tool list.",
    null,
  ),
  max_children: optional(COUNT, "Child processes at once.", null),
  max_connections: optional(COUNT, "Connections of HTTP clients.", null),
  max_upstream_connections: optional(COUNT, "Connections to a server at a URL.", null),
});

const TIMEOUTS = map({
  connection: optional(duration(), "Until a server at a URL has been reached and has answered.", null),
  tool_list: optional(duration(), "For the whole tool list.", null),
  child_grace: optional(duration(), "Between closing a child's stdin and killing it.", null),
  session_idle: optional(
    duration(),
    "How long an unused HTTP session keeps its server process or its session at the server.",
    null,
  ),
  slow_reader: optional(
    duration(),
    "How long Fairlead waits for a client that has closed stdin and does not read the remaining output.",
    null,
  ),
});

const AUDIT_INCLUDE = map({
  fields: optional(list(choice(AUDIT_FIELDS)), "Optional fields of a record; all of them by default.", null),
  classes: optional(
    list(choice(["pass", "log", "review"])),
    "Which classes of messages are recorded, instead of level. Messages that are refused, changed or unusual are always recorded.",
    null,
  ),
});
const AUDIT = map({
  file: needed(FILE, "Where to write, as JSON Lines."),
  level: optional(
    choice(["default", "all"]),
    "all also records routine messages that pass, and how long responses took.",
    "default" as const,
  ),
  on_error: optional(
    choice(["continue", "block"]),
    "What happens to messages while the log cannot be written.",
    "continue" as const,
  ),
  include: optional(AUDIT_INCLUDE, "What to write. Arguments and results never are.", null),
});

const REDIS = url(["redis:", "rediss:"]);
const STORE: Shape<"memory"> = {
  what: "memory",
  read(node, page) {
    const isRedis = node.kind === "scalar" && typeof node.value === "string" && /^rediss?:/.test(node.value);
    if (!isRedis) return choice(["memory"]).read(node, page);
    page.source.hide(node);
    return page.wrong(node, "not-yet", "A shared store (redis) is not in this version yet", "Write memory");
  },
  schema: () => ({
    anyOf: [{ const: "memory" }, { ...REDIS.schema(), pattern: "^rediss?:", description: "Not in this version yet." }],
  }),
};
const STATE_KEYS = map({
  store: optional(STORE, "Where it is kept.", "memory" as const),
  ttl: optional(duration(), "How long an idle session is remembered.", null),
  max_sessions: optional(COUNT, "How many sessions are remembered.", null),
  max_conversations: optional(COUNT, "How many requests and answers are remembered.", null),
});
const NO_STATE: StateSettings = Object.freeze({
  store: "memory",
  ttlMs: null,
  maxSessions: null,
  maxConversations: null,
});
const STATE = byKind<StateSettings>(
  {
    text: refine(STORE, () => NO_STATE),
    map: refine(STATE_KEYS, ({ ttl, ...rest }) => Object.freeze({ ...rest, ttlMs: ttl })),
  },
  "memory, or a map of keys",
);

const NAMING_HEADER = text({
  what: "the name of a header that says who the client is",
  pattern: IDENTITY_HEADER,
  examples: ["X-Forwarded-User"],
});
const AUTH_KEYS = map({
  tokens: optional(FILE, "A file with a name and a token on each line.", null),
  jwks: optional(url(), "The URL of the issuer's keys (JWKS).", null),
  issuer: optional(text(), "The issuer of the tokens.", null),
  audience: optional(text(), "The audience that tokens must be for.", null),
  scopes: optional(list(text()), "The scopes that tokens must have.", NONE),
  identity_header: optional(NAMING_HEADER, "The header in which a proxy in front of Fairlead names the client.", null),
});
const AUTH: Shape<AuthSettings> = refine(AUTH_KEYS, (given, node, page) => {
  const { tokens, jwks, issuer, audience, scopes, identityHeader } = given;
  const wrong = (message: string, suggestion: string): Wrong =>
    page.wrong(node.kind === "map" ? headOf(node) : node, "wrong-value", message, suggestion);
  // A client that logged in with a token already has a verified name.
  const warnOfHeader = (): void => {
    if (identityHeader === null) return;
    const message = "identity_header has no effect: tokens say who the client is";
    page.warn(node.kind === "map" ? headOf(node) : node, "no-effect", message, "Take it out, or the tokens");
  };
  const isJwt = jwks !== null || issuer !== null || audience !== null || scopes.length > 0;
  if (tokens !== null) {
    warnOfHeader();
    if (isJwt) return wrong("Tokens come from a file or from an issuer, not from both", "Take tokens out, or the rest");
    return { kind: "tokens", file: tokens, identityHeader };
  }
  if (!isJwt && identityHeader !== null) return { kind: "open", identityHeader };
  if (jwks === null || issuer === null || audience === null) {
    const suggestion = "Write tokens, or jwks, issuer and audience, or identity_header";
    return wrong(isJwt ? "The issuer and the audience of the tokens are missing" : "auth has no settings", suggestion);
  }
  warnOfHeader();
  return { kind: "jwt", jwks, issuer, audience, scopes, identityHeader };
});

const LOG = map({
  level: optional(choice(["error", "warn", "info", "debug"]), "How much is logged.", null),
  format: optional(choice(["text", "json"]), "The format of the log.", null),
  file: optional(FILE, "An additional file for the log.", null),
});

/** Suggestions for keys that belong in a section or in another file. */
const ELSEWHERE: Meanings = {
  ...belongTo("tools", ["deny", "allow", "pin", "hide", "not_found"]),
  ...belongTo("upstream", ["command", "url", "headers", "env", "cwd", "on_loss"]),
  args: ARGUMENTS,
  ...belongTo("interceptor", ["rules", "chain", "method_interceptors", "interceptors", "enabled", "mode"]),
  ...belongTo("auth", ["tokens", "jwks", "issuer", "audience", "scopes", "identity_header"]),
  ...belongTo("limits", ["max_message", "max_sessions", "max_open_calls", "max_children", "max_connections"]),
  ...belongTo("timeouts", ["connection", "tool_list", "child_grace"]),
  mcpServers:
    "That is the config of a client. Here a server is upstream: { command: [npx, some-server], env: { NAME: value } }",
  servers: "One file is for one server: write upstream: { command: [npx, some-server] }",
  conditions: "Put it into a rule, under interceptor: { rules: [{ id: …, conditions: …, actions: … }] }",
  actions: "Put it into a rule, under interceptor: { rules: [{ id: …, conditions: …, actions: … }] }",
};

function belongTo(section: string, keys: readonly string[]): Meanings {
  return Object.fromEntries(keys.map((key) => [key, `It belongs to ${section}: { ${key}: … }`]));
}

/** The shape of a whole policy file. */
export const POLICY = map(
  {
    version: optional(versionShape(), "The version of this format: 1.", 1 as const),
    upstream: optional(UPSTREAM, "The server.", null),
    listen: optional(place(), "Where HTTP clients connect: a port, or host:port.", null),
    tools: optional(TOOLS, "Which tools clients may see and call.", TOOLS.defaults),
    prompts: optional(PROMPTS, "Which prompts clients may see and get.", PROMPTS.defaults),
    resources: optional(RESOURCES, "Which resources clients may see and read.", RESOURCES.defaults),
    validate: optional(
      choice(["lists", "results"]),
      "What the server's answers are checked for: lists of tools, or all results of methods of MCP.",
      "lists" as const,
    ),
    interceptor: optional(INTERCEPTOR, "Rules and interceptors.", NO_INTERCEPTOR),
    limits: optional(LIMITS, "Upper limits.", LIMITS.defaults),
    timeouts: optional(TIMEOUTS, "How long things may take.", TIMEOUTS.defaults),
    audit: optional(AUDIT, "The audit log.", null),
    record: later(RECORD, "A byte-exact recording."),
    state: optional(STATE, "What is remembered of sessions, and where.", NO_STATE),
    experiments: later(EXPERIMENTS, "Two sets of rules compared."),
    anomaly: later(ANOMALY, "Scores against what was learnt."),
    auth: optional(AUTH, "Which HTTP clients are accepted.", null),
    dashboard: later(DASHBOARD, "The dashboard, on a port of its own."),
    metrics: later(METRICS, "Metrics for Prometheus."),
    tracing: later(TRACING, "Traces for OpenTelemetry."),
    log: optional(LOG, "The log for people.", LOG.defaults),
  },
  "keys and values",
  ELSEWHERE,
) satisfies Shape<PolicySettings>;

function versionShape(): Shape<1> {
  const known = choice([1]);
  return {
    ...known,
    read(node, page) {
      if (node.kind === "scalar" && (node.value === 1 || typeof node.value !== "number")) return known.read(node, page);
      return page.wrong(
        node,
        "wrong-value",
        `Version ${page.source.quote(node)} is not known here`,
        "Write version: 1, or use a newer Fairlead",
      );
    },
  };
}
