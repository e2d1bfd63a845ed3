import { asksOutside } from "../rules/action-traits.ts";
import type { Rule } from "../rules/rule.ts";
import type { Page } from "./page.ts";

/** The default timeout of webhooks and scripts, equal to the default timeout of the chain. */
export const DEFAULT_ASK_MS = 5000;

/** Warns of rules whose webhooks or scripts have a longer timeout than the chain. */
export function warnOfHaste(rules: readonly Rule[], chainMs: number, page: Page): void {
  for (const { id, mode, actions, place } of rules) {
    const longest = Math.max(0, ...actions.filter(asksOutside).map(({ timeoutMs }) => timeoutMs));
    if (mode === "off" || longest <= Math.max(chainMs, DEFAULT_ASK_MS)) continue;
    const start = page.source.offset(place);
    const message = `Rule ${id} waits ${longest} ms for an answer, and the chain only ${chainMs} ms`;
    page.warn({ start, end: start + 1 }, "no-effect", message, `Write chain: { timeout: ${longest}ms }`);
  }
}
