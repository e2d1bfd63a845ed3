import { hidesElements } from "../rules/action-traits.ts";
import { prepareRules } from "../rules/chain/build.ts";
import { explainTurn } from "../rules/chain/explain.ts";
import { createMemoryState } from "../store/state.ts";
import { openMessage, whole } from "../message/message.ts";
import type { InterceptorSettings } from "../rules/settings.ts";
import type { Tool } from "../session/catalogue.ts";
import { LINES } from "../session/exchange.ts";
import { createSession } from "../session/session.ts";

/**
 * The id of the rule that hides each of these tools from a list; null if none does. There is no client here, so
 * conditions about the client have no data.
 */
export async function findHidingRules(
  { enabled, mode, rules }: InterceptorSettings,
  tools: readonly Tool[],
): Promise<(string | null)[]> {
  const hiding = rules.filter((rule) => rule.mode === "on" && hidesElements(rule));
  if (!enabled || mode !== "mcp" || hiding.length === 0) return tools.map(() => null);
  const session = createSession({ maxOpenCalls: 1, learnsTools: () => false, say: () => {}, now });
  const asked = session.observe(openMessage(whole(REQUEST), "up", "allow"), LINES);
  if (asked.opens !== undefined) session.calls.up.open(asked.opens);
  const list = Buffer.from(`{"jsonrpc":"2.0","id":0,"result":{"tools":[${tools.map(({ raw }) => raw).join(",")}]}}`);
  const turn = session.observe(openMessage(whole(list), "down", "allow"), LINES);
  const [stop] = await explainTurn(await prepareRules(hiding), turn, createMemoryState({ now }));
  return tools.map((_, index) => {
    const hider = stop?.rules.find(({ elements }) => elements?.judged.at(index)?.isHidden === true);
    return hider?.compiled.rule.id ?? null;
  });
}

function now(): number {
  return performance.now();
}

const REQUEST = Buffer.from('{"jsonrpc":"2.0","id":0,"method":"tools/list"}');
