import type { Mistake } from "../../src/config/mistake.ts";
import { type ReadPolicy, readPolicy } from "../../src/config/read-policy.ts";
import { loadPatterns } from "../../src/rules/patterns.ts";

const engines = { pattern: await loadPatterns(), cel: () => ({}) };

/** Reads a policy as a file called p.yaml. */
export function read(text: string, env: Readonly<Record<string, string>> = {}): ReadPolicy {
  return readPolicy(text, { file: "p.yaml", env, engines });
}

/** Mistakes and warnings, each on a line of its own: place, message, and what to do. */
export function complaints(text: string, env: Readonly<Record<string, string>> = {}): string[] {
  const { mistakes, warnings } = read(text, env);
  return [...mistakes, ...warnings].map(showMistake);
}

function showMistake({ line, column, code, message, suggestion }: Mistake): string {
  return `${line}:${column} ${code}: ${message}${suggestion === null ? "" : ` → ${suggestion}`}`;
}

/** A policy with one rule that has these conditions and actions, in YAML's flow style. */
export function withRule(conditions: string, actions = "[{ block: no way }]", rest = ""): string {
  return `interceptor:\n  rules:\n    - id: r\n      conditions: ${conditions}\n      actions: ${actions}\n${rest}`;
}
