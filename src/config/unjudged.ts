import { OWN_REVISION } from "../message/protocol.ts";
import { askRule, compileRules, expressionsIn } from "../rules/compiled-rule.ts";
import type { CelTest } from "../rules/cel.ts";
import type { Part } from "../rules/fields.ts";
import { isWatching } from "../rules/action-traits.ts";
import type { Rule } from "../rules/rule.ts";
import { beginLook, type RuleView } from "../rules/view.ts";
import type { InterceptorSettings } from "../rules/settings.ts";
import type { Page } from "./page.ts";

/**
 * Warns of rules that block `initialize` because they cannot judge it: an expression about the arguments of a call
 * fails on a message without arguments, and a message that cannot be judged is refused. The rule's text does not show
 * this.
 */
export function warnOfUnjudged(rules: readonly Rule[], { onError }: InterceptorSettings["chain"], page: Page): void {
  if (onError === "allow") return;
  for (const rule of rules) {
    // A rule whose actions only observe does not refuse messages that it cannot judge.
    if (rule.mode !== "on" || rule.actions.every(isWatching)) continue;
    const doubt = expressionsIn([rule]).length === 0 ? null : findDoubt(rule, page);
    if (doubt === null) continue;
    const start = page.source.offset(rule.place);
    const message = `Rule ${rule.id} cannot judge initialize, and so blocks it (${doubt}): no client can begin a session`;
    const suggestion = "Put method_equals: tools/call before it, or ask with has(…) first";
    page.warn({ start, end: start + 1 }, "handshake", message, suggestion);
  }
}

/** Judges the handshake of an ordinary client by a rule. Returns why it cannot be judged; null if it can. */
function findDoubt(rule: Rule, page: Page): string | null {
  const expressions = new Map<string, CelTest>();
  for (const expression of expressionsIn([rule])) {
    const made = page.engines.cel(expression);
    // If the engine is not loaded yet, the file is read again later with it.
    if (typeof made !== "object" || made === null || !("test" in made)) return null;
    expressions.set(expression, made as CelTest);
  }
  const [compiled] = compileRules([rule], (expression) => expressions.get(expression) as CelTest);
  const view = compiled.moment === "said" ? REQUEST : ANSWER;
  if (rule.direction !== null && rule.direction !== view.direction) return null;
  const look = beginLook(view);
  return askRule(compiled, look) === "unsure" ? (look.doubt?.text ?? null) : null;
}

function part(value: object): Part {
  const bytes = Buffer.from(JSON.stringify(value));
  return { bytes, start: 0, end: bytes.length };
}

const REVISION = { protocolVersion: OWN_REVISION.stateful, capabilities: {} };

const REQUEST: RuleView = {
  kind: "request",
  direction: "up",
  method: "initialize",
  params: part({ ...REVISION, clientInfo: { name: "client", version: "1" } }),
  result: null,
  error: null,
  tool: null,
  client: "client",
  identity: null,
  server: "server",
  session: { id: "session", ageMs: () => 0, messages: 1, methods: new Map(), calls: () => 0, state: new Map() },
  sessionIds: () => ["session"],
  mcpSession: null,
};

const ANSWER: RuleView = {
  ...REQUEST,
  kind: "result",
  direction: "down",
  result: part({ ...REVISION, serverInfo: { name: "server", version: "1" } }),
};
