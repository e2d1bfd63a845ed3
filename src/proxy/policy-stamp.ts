import { createHash } from "node:crypto";
import type { InterceptorSettings } from "../rules/settings.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { PolicyStamp, RuleMetadata } from "../record/event.ts";
import type { NamePolicy } from "./names.ts";

/** The parts of a policy that decide. */
export interface Judges {
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
  readonly names: NamePolicy;
  readonly interceptor: InterceptorSettings | null;
  readonly observe: boolean;
}

/** Makes the stamp of a policy. It is computed when it is first needed, by the audit log. */
export function stampPolicy(judges: Judges): PolicyStamp {
  let version: string | null = null;
  let metadata: Map<string, RuleMetadata> | null = null;
  return {
    get version() {
      return (version ??= hash(judges));
    },
    metadata(rule) {
      metadata ??= new Map(
        (judges.interceptor?.rules ?? []).flatMap((each) => {
          const noted = plain(each.metadata);
          return noted === null ? [] : [[`rule:${each.id}`, noted]];
        }),
      );
      return metadata.get(rule) ?? null;
    },
  };
}

/** Metadata in the form in which events contain it; null if there is none, or too much to repeat with every event. */
function plain(metadata: RuleMetadata): RuleMetadata | null {
  const json = JSON.stringify(metadata, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
  if (json === "{}" || json.length > MAX_METADATA_CHARACTERS) return null;
  return JSON.parse(json) as RuleMetadata;
}

const MAX_METADATA_CHARACTERS = 4096;

/**
 * Only what decides is hashed: not how lists are cached, nor where a rule is in its file. Secrets are left out, because
 * others see the hash.
 */
function hash({ deny, allow, names, interceptor, observe }: Judges): string {
  const { notFound, hide } = names.tools;
  const tools = { deny: [...deny, ...names.tools.deny], allow: [...allow, ...names.tools.allow], notFound, hide };
  const lists = { tools, prompts: names.prompts, resources: names.resources, observe };
  const rules = interceptor?.rules.map((rule) => ({ ...rule, place: null })) ?? [];
  const text = JSON.stringify({ ...lists, interceptor: { ...interceptor, rules } }, (key, value: unknown) => {
    if (key === "secret" && typeof value === "string") return "***";
    if (typeof value === "bigint") return `${value}n`;
    if (value instanceof RegExp) return String(value);
    return value instanceof Map || value instanceof Set ? Array.from(value as Iterable<unknown>) : value;
  });
  return createHash("sha256").update(text).digest("hex").slice(0, VERSION_CHARACTERS);
}

const VERSION_CHARACTERS = 12;
