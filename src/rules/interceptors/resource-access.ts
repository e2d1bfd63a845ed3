import { findMember, readString } from "../../message/members.ts";
import { showText } from "../../message/text.ts";
import { matchesGlob } from "../globs.ts";
import { within } from "../paths.ts";
import type { Step } from "../chain/step.ts";
import { blocked } from "./blocked.ts";

/** The restrictions on reading resources. */
export interface ResourceAccessOptions {
  /** Null for all paths. */
  readonly allowedPaths: readonly string[] | null;
  /** Globs. */
  readonly denyPatterns: readonly string[];
}

const NAME = "ResourceAccessInterceptor";
const MAX_SHOWN = 256;

/**
 * Allows reading resources only below the allowed paths, and never those that match a denied glob. Paths are resolved
 * before they are compared.
 */
export function createResourceAccessStep({ allowedPaths, denyPatterns }: ResourceAccessOptions): Step {
  const isAllowed = allowedPaths === null ? () => true : within(allowedPaths);
  const isDenied = matchesGlob(denyPatterns);
  return {
    name: `interceptor:${NAME}`,
    concerns: (moment, method) => moment === "said" && method === "resources/read",
    intercept({ view: { params } }) {
      const uri =
        params === null || params === undefined
          ? null
          : readString(params.bytes, findMember(params.bytes, params, "uri"));
      if (uri === null) return blocked(NAME, "Resource without a uri not allowed");
      if (isAllowed(uri) && !isDenied(uri)) return null;
      return blocked(NAME, `Resource '${showText(uri, MAX_SHOWN)}' not allowed`);
    },
  };
}
