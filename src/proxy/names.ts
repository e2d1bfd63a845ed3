import type { NameSettings } from "../policy/file/settings.ts";
import type { NameFilters } from "../policy/names/judge-names.ts";
import { createNameFilter, readName } from "../policy/names/name-filter.ts";
import { readUri } from "../policy/names/uri-readings.ts";
import type { Pattern } from "../policy/patterns.ts";
import { checkMembers, readPatterns } from "./options.ts";

/** Names to hide, and the only ones to show. */
export interface NameLists {
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
}

/** What a proxy decides by name, beside the patterns for tools. What a policy file says of it fits in here. */
export interface NameOptions {
  /** By name. */
  readonly prompts?: NameLists;
  /** By link, or template for links. */
  readonly resources?: NameLists;
}

/** The same, checked and complete. */
export interface NamePolicy {
  readonly prompts: NameSettings;
  readonly resources: NameSettings;
}

/** Checks what is decided by name. */
export function readNames(options: NameOptions | undefined): NamePolicy {
  if (options !== undefined) checkMembers(options, "names", ["prompts", "resources"]);
  return { prompts: readLists(options, "prompts"), resources: readLists(options, "resources") };
}

function readLists(options: NameOptions | undefined, kind: "prompts" | "resources"): NameSettings {
  const lists = options?.[kind] ?? {};
  const where = `names.${kind}`;
  checkMembers(lists, where, ["deny", "allow"]);
  return { deny: readPatterns(lists, "deny", `${where}.`), allow: readPatterns(lists, "allow", `${where}.`) };
}

/** The filters for prompts and resources; null where there is nothing to hide. */
export function createNameFilters(
  { prompts, resources }: NamePolicy,
  onHang: (pattern: string) => void,
): NameFilters | null {
  if (!isSet(prompts) && !isSet(resources)) return null;
  return {
    prompts: isSet(prompts) ? createNameFilter({ ...prompts, read: readName, onHang }) : null,
    resources: isSet(resources) ? createNameFilter({ ...resources, read: readUri, onHang }) : null,
  };
}

function isSet({ deny, allow }: NameSettings): boolean {
  return deny.length > 0 || allow.length > 0;
}
