import { createRedaction } from "../rules/transform/redact.ts";
import { nameUpstream } from "./upstream-name.ts";

/** A server: at a URL, or a program and its arguments. */
export interface ServerPlace {
  readonly upstream?: string;
  readonly command?: readonly string[];
}

/**
 * The name of a server in a lock file: the configured URL without user name, password and query, or the command line
 * without secrets. What the server says about itself does not count: it could change that to be taken for an unknown
 * server.
 */
export function nameServer({ upstream, command = [] }: ServerPlace): string {
  if (upstream !== undefined) return nameUpstream(upstream);
  return hideSecrets(command).map(quote).join(" ");
}

const redact = createRedaction({ kinds: ["secrets"], patterns: [], by: "***" });

/** A reader of the file may see which secrets are used, but not their values. */
function hideSecrets(words: readonly string[]): string[] {
  return words.map((word, index) => {
    const before = index === 0 ? "" : words[index - 1];
    if (SECRET_OPTION.test(before) && !word.startsWith("-")) return "***";
    return redact(word.replace(SECRET_VALUE, "$1***"), null);
  });
}

const SECRET_NAME = String.raw`[\w-]*(?:key|token|secret|passw(?:or)?d|credential|auth)[\w-]*`;
const SECRET_OPTION = new RegExp(`^--?${SECRET_NAME}$`, "i");
const SECRET_VALUE = new RegExp(`^((?:--?)?${SECRET_NAME}=).+$`, "is");

function quote(word: string): string {
  return /^[\w@%+=:,./*-]+$/.test(word) ? word : JSON.stringify(word);
}
