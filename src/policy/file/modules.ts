import { map } from "./collections.ts";
import { json } from "./json.ts";
import type { ModuleSettings } from "./settings.ts";
import { needed, optional, type Shape } from "./shape.ts";
import { text } from "./values.ts";

/** A module of the user's own, by its path or its package. */
export const MODULE: Shape<ModuleSettings> = map({
  module: needed(text({ what: "the path of a module" }), "The path of the module, or the name of its package."),
  export: optional(text({ what: "the name of an export" }), "Which of its exports.", "default"),
  options: optional(json(), "Handed to it as it is.", null),
});
