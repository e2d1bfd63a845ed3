import { ProxyError } from "../errors.ts";
import type { NameSettings, PinSettings, ResourceSettings, ToolSettings } from "../config/settings.ts";
import type { NameFilters } from "../policy/names/judge-names.ts";
import { createNameFilter, readName } from "../policy/names/name-filter.ts";
import { readUri } from "../policy/names/uri-readings.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { Log } from "../record/log/log.ts";
import { checkMembers, readPatterns } from "./options.ts";
import type { PinKeeper } from "./pin-keeper.ts";
import type { ServerPlace } from "./server-name.ts";

/** `deny` hides the names that match; `allow` hides all names that do not match. */
export interface NameLists {
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
}

/** How the tool filter behaves. Null means the default. */
export type ToolManners = Pick<ToolSettings, "cache" | "refresh" | "notFound" | "hide">;

/** Filters by name in addition to `deny` and `allow`. The settings of a policy file have the same form. */
export interface NameOptions {
  /** How the tool filter behaves, and further patterns for it. */
  readonly tools?: NameLists &
    Partial<ToolManners> & {
      /** The lock file, which stores the accepted definitions of tools. */
      readonly pin?: string | PinSettings | null;
    };
  /** The filter for prompts, by name. */
  readonly prompts?: NameLists;
  /**
   * The filter for resources, by URI or URI template. `links` says what happens to links to hidden resources in
   * results.
   */
  readonly resources?: NameLists & Partial<Pick<ResourceSettings, "links">>;
}

/** The checked options, with defaults. */
export interface NamePolicy {
  readonly tools: NameSettings & ToolManners & { readonly pin: PinSettings | null };
  readonly prompts: NameSettings;
  readonly resources: ResourceSettings;
}

/** Checks the filters by name. */
export function readNames(options: NameOptions | undefined): NamePolicy {
  if (options !== undefined) checkMembers(options, "names", ["tools", "prompts", "resources"]);
  return {
    tools: {
      ...readLists(options, "tools"),
      ...readManners(options?.tools ?? {}),
      pin: readPin(options?.tools?.pin ?? null),
    },
    prompts: readLists(options, "prompts"),
    resources: { ...readLists(options, "resources"), links: readLinks(options?.resources?.links ?? null) },
  };
}

function readLinks(links: ResourceSettings["links"]): ResourceSettings["links"] {
  if (links === null || LINKS.includes(links)) return links;
  throw new ProxyError(
    "BAD_USAGE",
    "names.resources.links has an unknown value",
    `Write one of ${LINKS.join(", ")}, or leave it out`,
  );
}

const LINKS: readonly ResourceSettings["links"][] = ["keep", "cut", "block"];

const CHOICES: { readonly [Key in keyof ToolManners]: readonly NonNullable<ToolManners[Key]>[] } = {
  cache: ["startup", "session"],
  refresh: ["never", "on_change"],
  notFound: ["contract", "spec", "upstream"],
  hide: ["plain", "strict"],
};

function readManners(options: Partial<ToolManners>): ToolManners {
  const { cache = null, refresh = null, notFound = null, hide = null } = options;
  const manners: ToolManners = { cache, refresh, notFound, hide };
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value = manners[name as keyof ToolManners];
    if (value === null || (choices as readonly string[]).includes(value)) continue;
    const remedy = `Write one of ${choices.join(", ")}, or leave it out`;
    throw new ProxyError("BAD_USAGE", `names.tools.${name} has an unknown value`, remedy);
  }
  return manners;
}

function readPin(pin: string | PinSettings | null): PinSettings | null {
  if (pin === null) return null;
  const settings: Partial<PinSettings> = typeof pin === "string" ? { file: pin } : pin;
  checkMembers(settings, "names.tools.pin", ["file", "onChange"]);
  const { file, onChange = "hide" } = settings;
  if (typeof file === "string" && file !== "" && ["hide", "flag"].includes(onChange)) return { file, onChange };
  const remedy = 'Write pin: "fairlead.lock", or pin: { file: "fairlead.lock", onChange: "flag" }';
  throw new ProxyError("BAD_USAGE", "names.tools.pin does not name a lock file", remedy);
}

function readLists(options: NameOptions | undefined, kind: keyof NameOptions): NameSettings {
  const lists = options?.[kind] ?? {};
  const where = `names.${kind}`;
  const known = { tools: ["pin", ...Object.keys(CHOICES)], prompts: [], resources: ["links"] }[kind];
  checkMembers(lists, where, ["deny", "allow", ...known]);
  return { deny: readPatterns(lists, "deny", `${where}.`), allow: readPatterns(lists, "allow", `${where}.`) };
}

/** The filters for prompts and resources; null if they hide nothing. */
export function createNameFilters(
  { prompts, resources }: NamePolicy,
  onHang: (pattern: string) => void,
): NameFilters | null {
  if (!isSet(prompts) && !isSet(resources)) return null;
  return {
    prompts: isSet(prompts) ? createNameFilter({ ...prompts, read: readName, onHang }) : null,
    resources: isSet(resources) ? createNameFilter({ ...resources, read: readUri, onHang }) : null,
    links: resources.links ?? "keep",
  };
}

function isSet({ deny, allow }: NameSettings): boolean {
  return deny.length > 0 || allow.length > 0;
}

/** Opens the lock file, if one is configured. Its code is loaded only then. */
export async function openNamedPins(
  { tools: { pin } }: NamePolicy,
  server: ServerPlace,
  log: Log,
): Promise<PinKeeper | null> {
  if (pin === null) return null;
  const { openPins } = await import("./pin-keeper.ts");
  return openPins(pin, server, { log, now: () => performance.now() });
}
