import type { PolicySettings } from "../../../src/policy/file/settings.ts";
import { readSettings } from "../../support/rules.ts";

/** What the server has: of each kind some that every policy shows, some that every policy hides, and some that one hides. */
export const NAMES = ["safe_a", "safe_b", "secret_a", "secret_b", "extra_a", "other_a"] as const;

/** The tool whose results no policy lets through, and the prompt. */
export const LEAKY = "leaky";

/** Which names a policy hides. All of them hide what is secret, so that a reload never makes that visible. */
const HIDDEN = [/^secret/, /^(?:secret|extra)/, /^(?:secret|other)/];

/** How many policies there are to choose from. */
export const POLICY_COUNT = HIDDEN.length;

/** How the tool filter keeps lists. */
export interface ListManners {
  readonly cache: "startup" | "session";
  readonly refresh: "never" | "on_change";
}

/** Whether a policy hides what is called so. A resource's link begins with its name. */
export function hides(policy: number, name: string): boolean {
  return HIDDEN[policy].test(name);
}

/** Reads the policies. */
export async function readPolicies({ cache, refresh }: ListManners): Promise<readonly PolicySettings[]> {
  const key = `${cache} ${refresh}`;
  const known = kept.get(key) ?? Promise.all(HIDDEN.map(({ source }) => readSettings(compose(source, cache, refresh))));
  kept.set(key, known);
  return known;
}

const kept = new Map<string, Promise<readonly PolicySettings[]>>();

function compose(hidden: string, cache: string, refresh: string): string {
  return `
tools: { deny: ["${hidden}"], cache: ${cache}, refresh: ${refresh} }
prompts: { deny: ["${hidden}"] }
resources: { deny: ["${hidden}"] }
interceptor:
  chain: { timeout: 60s }
  rules:
    - id: no-leaky-results
      direction: down
      conditions: [{ method_in: [tools/call, prompts/get] }, { param_equals: { field: name, value: ${LEAKY} } }]
      actions: [{ block: "blocked" }]
    - id: no-danger
      conditions: [{ method_equals: tools/call }, { param_equals: { field: arguments.danger, value: true } }]
      actions: [{ block: "blocked" }]
    - id: no-questions
      conditions: [{ method_equals: elicitation/create }]
      actions: [{ block: "blocked" }]
    - id: no-secret-log
      conditions: [{ method_equals: notifications/message }, { param_equals: { field: logger, value: secret } }]
      actions: [{ block: "blocked" }]
`;
}
