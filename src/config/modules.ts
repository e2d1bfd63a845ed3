import { showText } from "../message/text.ts";
import { map } from "./collections.ts";
import { isModulePath } from "./facts.ts";
import { json } from "./json.ts";
import type { ModuleSettings } from "../rules/settings.ts";
import { needed, optional, refine, type Shape } from "./shape.ts";
import { text } from "./values.ts";

/** The path of a module, or the name of its package. A missing file is a mistake, because the proxy could not start. */
export const MODULE_NAME = refine(text({ what: "the path of a module" }), (module, node, page) => {
  if (!isModulePath(module) || page.facts.hasFile?.(module) !== false) return module;
  return page.wrong(node, "missing-file", `There is no module ${showText(module, 80)}`, FROM_HERE);
});

/** The suggestion for a file that does not exist. */
export const FROM_HERE = "Paths are relative to the folder of the policy file";

/** A user's module, given by its path or its package. */
export const MODULE: Shape<ModuleSettings> = map({
  module: needed(MODULE_NAME, "The path of the module, or the name of its package."),
  export: optional(text({ what: "the name of an export" }), "Which of its exports.", "default"),
  options: optional(json(), "Passed to it unchanged.", null),
});
