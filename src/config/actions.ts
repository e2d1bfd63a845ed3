import { showText } from "../message/text.ts";
import type { RuleAction } from "../rules/rule.ts";
import { url } from "./addresses.ts";
import { type Clause, clause } from "./clause.ts";
import { byKind, list, map } from "./collections.ts";
import { secret } from "./environment.ts";
import { field } from "./fields.ts";
import { DEFAULT_ASK_MS } from "./haste.ts";
import { json } from "./json.ts";
import { FROM_HERE } from "./modules.ts";
import { WRONG } from "./page.ts";
import { named, needed, optional, refine, type Shape } from "./shape.ts";
import { template } from "./templates.ts";
import { TRANSFORM } from "./transforms.ts";
import { duration } from "./units.ts";
import { choice, flag, integer, number, text } from "./values.ts";

/** One action of a rule. */
export const ACTION: Shape<RuleAction> = named("action", "an action", () => ANY_ACTION);

const CODE = integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const COUNT = integer({ min: 1, max: 1_000_000_000 });

// A name without a slash is looked up on the PATH when the script runs.
const PROGRAM = refine(text({ what: "the path of a program", pattern: /^[^\0]+$/ }), (path, node, page) => {
  if (/[\\/]/.test(path) && page.facts.hasFile?.(path) === false)
    page.warn(node, "missing-file", `There is no program ${showText(path, 80)}`, FROM_HERE);
  return path;
});

/** All actions. `hold` is reserved until the dashboard exists. */
const ACTIONS: Readonly<Record<RuleAction["does"] | "hold", Clause<RuleAction>>> = {
  allow: bare(
    { does: "allow" },
    "Skip the remaining rules and let the message pass. This never overrides the tool filter.",
  ),
  block: {
    help: "Refuse the message, for this reason.",
    shape: byKind<RuleAction>(
      {
        text: refine(template("the reason"), (reason) => ({ does: "block", reason, code: null })),
        map: refine(
          map({
            reason: needed(template("the reason"), "What the client is told."),
            code: optional(CODE, "The error code; -32001 by default.", null),
          }),
          ({ reason, code }) => ({ does: "block", reason, code }),
        ),
      },
      "the reason",
    ),
  },
  delay: {
    help: "Delay the message; other messages do not wait for it.",
    shape: refine(duration(), (milliseconds) => ({ does: "delay", milliseconds })),
  },
  set_param: sets("params", "set_param", "Set a parameter."),
  set_result: sets("result", "set_result", "Set a member of the result."),
  remove_param: {
    help: "Remove a parameter.",
    shape: refine(field("params"), (field) => ({ does: "remove_param", field })),
  },
  inject_error: {
    help: "Answer with this error instead.",
    shape: refine(
      map({
        code: needed(CODE, "The error code."),
        message: needed(template(), "What the client is told."),
        data: optional(json(), "More about it.", undefined),
      }),
      ({ code, message, data }) => ({ does: "inject_error", code, message, data }),
    ),
  },
  transform: {
    help: "Change the message: redact, truncate, strip_control, json_patch, or your own module.",
    shape: refine(TRANSFORM, (transform) => ({ does: "transform", transform })),
  },
  log: {
    help: "Write a line into the log.",
    shape: refine(
      map({
        level: optional(choice(["error", "warn", "info", "debug"]), "How urgent it is.", "info" as const),
        message: needed(template(), "What to write."),
      }),
      ({ level, message }) => ({ does: "log", level, message }),
    ),
  },
  metric: {
    help: "Count something.",
    shape: refine(
      map({
        name: needed(
          text({ what: "the name of a metric such as deletes_total", pattern: /^[a-zA-Z_:][a-zA-Z0-9_:]*$/ }),
          "Its name.",
        ),
        value: optional(number({ min: -Infinity, max: Infinity }), "How much to add.", 1),
      }),
      ({ name, value }) => ({ does: "metric", name, value }),
    ),
  },
  webhook: {
    help: "Notify your own HTTP server; with wait, its response decides.",
    shape: refine(
      map({
        url: needed(url(), "The URL. Environment variables are replaced; variables of messages are not allowed."),
        include_message: optional(flag(), "Whether to send the message itself.", false),
        wait: optional(flag(), "Whether its response decides.", false),
        timeout: optional(duration(), "How long to wait for the response.", DEFAULT_ASK_MS),
        secret: optional(secret(text()), "Signs what is sent (HMAC).", null),
        allow_private: optional(flag(), "Whether the URL may be on this machine or in a private network.", false),
      }),
      ({ url, includeMessage, wait, timeout, secret, allowPrivate }, node, page) => {
        const refusal = page.facts.webhook?.(url, allowPrivate) ?? null;
        if (refusal !== null) {
          const entry = node.kind === "map" ? node.entries.find(({ name }) => name === "url") : undefined;
          return page.wrong(
            entry?.value ?? node,
            "bad-url",
            `This webhook cannot be used: ${refusal.why}`,
            refusal.remedy,
          );
        }
        return { does: "webhook", url, includeMessage, waits: wait, timeoutMs: timeout, secret, allowPrivate };
      },
    ),
  },
  run_script: {
    help: "Run a program with the message on its stdin; its output decides. No shell is used.",
    shape: refine(
      map({
        path: needed(PROGRAM, "The program."),
        args: optional(list(text({ mayBeEmpty: true, pattern: /^[^\0]*$/ })), "Its arguments.", Object.freeze([])),
        timeout: optional(duration(), "How long it may take.", DEFAULT_ASK_MS),
      }),
      ({ path, args, timeout }) => ({ does: "run_script", path, args, timeoutMs: timeout }),
    ),
  },
  fork: {
    help: "Send copies to a second server, or to the same one. The client never receives their responses.",
    shape: refine(
      map({
        copies: optional(integer({ min: 1, max: 16 }), "How many.", 1),
        to: optional(url(), "The second server.", null),
      }),
      ({ copies, to }) => ({ does: "fork", copies, to }),
    ),
  },
  cache: {
    help: "Answer repeated requests from memory for a while.",
    shape: refine(
      map({
        key: needed(
          template("a key such as ${method}:${params_hash}"),
          "Requests with the same key get the same response.",
        ),
        ttl: needed(duration(), "How long a response may be reused."),
        scope: optional(choice(["private", "shared"]), "Whether clients share cached responses.", "private" as const),
      }),
      ({ key, ttl, scope }) => ({ does: "cache", key, ttlMs: ttl, scope }),
    ),
  },
  rate_limit: {
    help: "Refuse messages that arrive too often, counted in a sliding window.",
    shape: refine(
      map(
        {
          key: needed(
            template("a key such as ${session_id}:${method}"),
            "Messages with the same key are counted together.",
          ),
          limit: needed(COUNT, "How many messages may pass in a window."),
          window: needed(duration(), "How long a window is."),
        },
        undefined,
        {
          per: "Write window",
          interval: "Write window",
          period: "Write window",
          duration: "Write window",
          max: "Write limit",
          requests: "Write limit",
          count: "Write limit",
          per_minute: "Write limit: …, window: 1m",
          per_second: "Write limit: …, window: 1s",
          per_hour: "Write limit: …, window: 1h",
        },
      ),
      ({ key, limit, window }) => ({ does: "rate_limit", key, limit, windowMs: window }),
    ),
  },
  set_state: {
    help: "Store a value in the session, for state_equals and expressions. null removes it.",
    shape: refine(
      map({ key: needed(text({ what: "a key" }), "The key."), value: needed(json(), "The value, of any type.") }),
      ({ key, value }) => ({ does: "set_state", key, value }),
    ),
  },
  hide: bare({ does: "hide" }, "Remove the entries that match from lists."),
  hold: {
    help: "Hold the message until a person decides.",
    isLater: true,
    shape: {
      ...map({
        ask: optional(text(), "What to ask.", null),
        timeout: optional(duration(), "How long to wait.", null),
        on_timeout: optional(choice(["block", "allow"]), "What to do when the time is over.", "block" as const),
      }),
      read: () => WRONG,
    },
  },
};

/** The names of all actions. */
export const ACTION_NAMES = Object.keys(ACTIONS);

/** The shape of any action. The JSON Schema contains it once. */
export const ANY_ACTION: Shape<RuleAction> = clause("action", ACTIONS, {
  deny: "Write block: the reason",
  refuse: "Write block: the reason",
  reject: "Write block: the reason",
  drop: "Write block: the reason. A notification is dropped by it",
  error: "Write inject_error: { code: …, message: … }, or block: the reason",
  pass: "Write allow",
  permit: "Write allow",
  redact: "Write transform: { redact: { kinds: [secrets] } }",
  mask: "Write transform: { redact: { kinds: [secrets] } }",
  truncate: "Write transform: { truncate: 1000 }",
  strip_control: "Write transform: strip_control",
  json_patch: "Write transform: { json_patch: [{ op: …, path: … }] }",
  module: "Write transform: { module: ./yours.mjs }",
  throttle: "Write rate_limit: { key: …, limit: …, window: … }",
  script: "Write run_script: { path: … }",
  notify: "Write webhook: { url: … }",
  rewrite: "Write set_param: { field: …, value: … }, or set_result",
});

/** An action that needs no value: `- allow`, `- allow:` and `- allow: true` are the same. */
function bare(action: RuleAction, help: string): Clause<RuleAction> {
  const shape = refine(choice([true]), () => ({ ...action }));
  return {
    help,
    bare: () => ({ ...action }),
    shape: {
      what: "true, or nothing",
      read: (node, page) => (node.kind === "scalar" && node.value === null ? { ...action } : shape.read(node, page)),
      schema: () => ({ enum: [true, null] }),
    },
  };
}

function sets(root: "params" | "result", does: "set_param" | "set_result", help: string): Clause<RuleAction> {
  const shape = map({ field: needed(field(root), "The member."), value: needed(json(), "Its value, of any type.") });
  return { help, shape: refine(shape, ({ field, value }) => ({ does, field, value })) };
}
