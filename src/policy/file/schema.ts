import { MAX_DEPTH } from "../../message/scan.ts";
import { headers, place, url, variables } from "./addresses.ts";
import { byKind, headOf, list, map } from "./collections.ts";
import { INTERCEPTOR, NO_INTERCEPTOR } from "./interceptor.ts";
import { ANOMALY, DASHBOARD, EXPERIMENTS, METRICS, RECORD, TRACING } from "./later.ts";
import type { Wrong } from "./page.ts";
import { namePatterns } from "./patterns.ts";
import type { AuthSettings, PinSettings, PolicySettings, StateSettings, UpstreamSettings } from "./settings.ts";
import { later, needed, optional, refine, type Shape } from "./shape.ts";
import { duration, size } from "./units.ts";
import { choice, integer, text } from "./values.ts";

// Every key of a policy file stands here, or in the tables that are named here: what may be written,
// what it means, and what editors are told about it.

const NONE = Object.freeze([]);
const FILE = text({ what: "the path of a file" });
/** Less than this and the handshake itself would be refused. */
const LEAST_DEPTH = 8;
const COUNT = integer({ min: 1, max: 1_000_000_000 });

const UPSTREAM_KEYS = map({
  url: optional(url(), "The server's URL. ${VAR} stands for a variable of the environment.", null),
  command: optional(list(text({ what: "a word" }), { min: 1 }), "The server's program and its arguments.", null),
  headers: optional(headers(), "Sent to the server at the URL. ${VAR} stands for a variable of the environment.", null),
  env: optional(variables(), "For the program, beside our own environment.", null),
  cwd: optional(text({ what: "a directory" }), "Where the program starts.", null),
  on_loss: optional(choice(["exit", "keep"]), "What happens when the server is lost.", null),
});

const UPSTREAM: Shape<UpstreamSettings> = refine(UPSTREAM_KEYS, (said, node, page) => {
  const keyOf = (name: string) =>
    node.kind === "map" ? (node.entries.find((entry) => entry.name === name) ?? headOf(node)) : node;
  const { url, command } = said;
  if (url !== null && command !== null) {
    return page.wrong(keyOf("command"), "wrong-value", "A server is a command or a URL, not both", "Take one out");
  }
  if (url === null && command === null) {
    return page.wrong(
      keyOf(""),
      "missing-key",
      "upstream has neither url nor command",
      "Add url: http://localhost:3000/mcp, or command: [npx, some-server]",
    );
  }
  const strange = url !== null ? (["env", "cwd"] as const) : (["headers", "on_loss"] as const);
  for (const name of strange) {
    if (said[name === "on_loss" ? "onLoss" : name] === null) continue;
    const owner = url === null ? "url" : "command";
    return page.wrong(keyOf(name), "wrong-value", `${name} goes with ${owner}, and there is none`, "Take it out");
  }
  if (url !== null) return { kind: "url", url, headers: said.headers ?? new Map(), onLoss: said.onLoss };
  return { kind: "command", command: command ?? [], env: said.env ?? new Map(), cwd: said.cwd };
});

const NAMES = {
  deny: optional(namePatterns("deny"), "Regular expressions. What matches any of them is hidden and refused.", NONE),
  allow: optional(
    namePatterns("allow"),
    "Regular expressions. Only what matches one of them is shown; deny still wins.",
    NONE,
  ),
};

const PIN_KEYS = map({
  file: needed(FILE, "The lock file."),
  on_change: optional(
    choice(["hide", "flag"]),
    "What becomes of a tool that is new or not as it was accepted: hidden until it is accepted, or only noted.",
    "hide" as const,
  ),
});
const PIN = byKind<PinSettings>(
  { text: refine(FILE, (file) => Object.freeze({ file, onChange: "hide" as const })), map: PIN_KEYS },
  "the path of a file, or a map of keys",
);

const TOOLS = map({
  ...NAMES,
  cache: optional(choice(["startup", "session"]), "Whether the list is learnt once, or by each session.", null),
  refresh: optional(
    choice(["never", "on_change"]),
    "Whether the list is learnt anew when the server says that it changed.",
    null,
  ),
  not_found: optional(
    choice(["contract", "spec", "upstream"]),
    "How a call of a hidden or unknown tool is answered.",
    null,
  ),
  hide: optional(
    choice(["plain", "strict"]),
    "strict also takes hidden names out of errors, completions and logs.",
    null,
  ),
  pin: optional(PIN, "The lock file that remembers the definition of every tool.", null),
});
const PROMPTS = map(NAMES);
const RESOURCES = map(NAMES);

const LIMITS = map({
  max_message: optional(size(), "Bytes of one message; 10MB unless said otherwise.", null),
  max_depth: optional(
    integer({ min: LEAST_DEPTH, max: MAX_DEPTH }),
    "How deep a message may be nested; 128 unless said otherwise, which is also the most.",
    null,
  ),
  max_buffer: optional(
    size(),
    "Bytes of a message that is too large after which it is given up, also where it has not ended; 20MB unless said otherwise.",
    null,
  ),
  max_open_calls: optional(COUNT, "Requests that may wait at once, in each direction.", null),
  max_sessions: optional(COUNT, "Sessions of clients that come by HTTP.", null),
  max_parked: optional(size(), "Bytes of messages that wait for something of ours.", null),
  max_children: optional(COUNT, "Child processes at once.", null),
  max_connections: optional(COUNT, "Connections of clients that come by HTTP.", null),
  max_upstream_connections: optional(COUNT, "Connections to a server at a URL.", null),
});

const TIMEOUTS = map({
  connection: optional(duration(), "Until a server at a URL has been reached and has answered.", null),
  tool_list: optional(duration(), "For the whole tool list.", null),
  child_grace: optional(duration(), "Between closing a child's stdin and killing it.", null),
  session_idle: optional(
    duration(),
    "How long a session by HTTP that nobody uses keeps its server process or its session at the server.",
    null,
  ),
  slow_reader: optional(
    duration(),
    "How long a client that has closed stdin may take nothing of what is left for it.",
    null,
  ),
});

const AUDIT = map({
  file: needed(FILE, "Where to write, as JSON Lines."),
  level: optional(
    choice(["default", "all"]),
    "all adds what simply passes, and the latency of answers.",
    "default" as const,
  ),
  on_error: optional(
    choice(["continue", "block"]),
    "What happens to messages while the log cannot be written.",
    "continue" as const,
  ),
  include: later(list(choice(["arguments", "results"])), "What else to write."),
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
  ttl: optional(duration(), "How long a session that is silent is remembered.", null),
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

/** Not one that says something else already, and that clients set themselves. */
const IDENTITY_HEADER = text({
  what: "the name of a header that says who the client is",
  pattern:
    /^(?!(?:authorization|cookie|host|origin|accept|connection|transfer-encoding|(?:mcp|content|sec|last-event)-.*)$)[a-z\d-]+$/i,
  examples: ["X-Forwarded-User"],
});
const AUTH_KEYS = map({
  tokens: optional(FILE, "A file with a name and a token on each line.", null),
  jwks: optional(url(), "Where the keys of the issuer are.", null),
  issuer: optional(text(), "Who signs tokens.", null),
  audience: optional(text(), "For whom they are signed.", null),
  scopes: optional(list(text()), "What they must be good for.", NONE),
  identity_header: optional(IDENTITY_HEADER, "The header in which a proxy before this one names the client.", null),
});
const AUTH: Shape<AuthSettings> = refine(AUTH_KEYS, (given, node, page) => {
  const { tokens, jwks, issuer, audience, scopes, identityHeader } = given;
  const wrong = (message: string, suggestion: string): Wrong =>
    page.wrong(node.kind === "map" ? headOf(node) : node, "wrong-value", message, suggestion);
  const isJwt = jwks !== null || issuer !== null || audience !== null || scopes.length > 0;
  if (tokens !== null) {
    if (isJwt) return wrong("Tokens come from a file or from an issuer, not from both", "Take tokens out, or the rest");
    return { kind: "tokens", file: tokens, identityHeader };
  }
  if (!isJwt && identityHeader !== null) return { kind: "open", identityHeader };
  if (jwks === null || issuer === null || audience === null) {
    const suggestion = "Write tokens, or jwks, issuer and audience, or identity_header";
    return wrong(isJwt ? "Keys alone do not say whose tokens to take" : "auth says nothing", suggestion);
  }
  return { kind: "jwt", jwks, issuer, audience, scopes, identityHeader };
});

const LOG = map({
  level: optional(choice(["error", "warn", "info", "debug"]), "How much is logged.", null),
  format: optional(choice(["text", "json"]), "How it is written.", null),
  file: optional(FILE, "Where to write it as well.", null),
});

/** A policy file. */
export const POLICY = map(
  {
    version: optional(versionShape(), "The version of this format: 1.", 1 as const),
    upstream: optional(UPSTREAM, "The server.", null),
    listen: optional(place(), "Where clients come in by HTTP: a port, or host:port.", null),
    tools: optional(TOOLS, "Which tools clients may see and call.", TOOLS.defaults),
    prompts: optional(PROMPTS, "Which prompts clients may see and get.", PROMPTS.defaults),
    resources: optional(RESOURCES, "Which resources clients may see and read.", RESOURCES.defaults),
    interceptor: optional(INTERCEPTOR, "Rules and interceptors.", NO_INTERCEPTOR),
    limits: optional(LIMITS, "Everything that can grow, and how far.", LIMITS.defaults),
    timeouts: optional(TIMEOUTS, "How long things may take.", TIMEOUTS.defaults),
    audit: optional(AUDIT, "The audit log.", null),
    record: later(RECORD, "A byte-exact recording."),
    state: optional(STATE, "What is remembered of sessions, and where.", NO_STATE),
    experiments: later(EXPERIMENTS, "Two sets of rules compared."),
    anomaly: later(ANOMALY, "Scores against what was learnt."),
    auth: optional(AUTH, "Who may come in by HTTP.", null),
    dashboard: later(DASHBOARD, "The dashboard, on a port of its own."),
    metrics: later(METRICS, "Metrics for Prometheus."),
    tracing: later(TRACING, "Traces for OpenTelemetry."),
    log: optional(LOG, "The log for people.", LOG.defaults),
  },
  "keys and values",
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
