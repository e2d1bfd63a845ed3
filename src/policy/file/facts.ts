/** What is known beyond the text of a policy file. It shows mistakes that the text alone does not; all of it may be missing. */
export interface Facts {
  /** Why a webhook would be refused when the proxy starts, and what to do; null where nothing speaks against it. */
  webhook?(url: string, allowPrivate: boolean): WebhookRefusal | null;
  /** Whether there is a file at a path, which may be relative to the folder of the policy. */
  hasFile?(path: string): boolean;
  /** The tools of the server, where it was asked. */
  readonly tools?: readonly ToolFacts[];
}

/** What is known of a tool. */
export interface ToolFacts {
  readonly name: string;
  /** Its JSON Schema, as the server wrote it. */
  readonly inputSchema: unknown;
}

/** Why a webhook cannot be used. */
export interface WebhookRefusal {
  readonly why: string;
  readonly remedy: string;
}

/** Whether a module is given by a path, and not by the name of a package. */
export function isModulePath(module: string): boolean {
  return /^\.|\.[cm]?[jt]s$|^[\\/]/.test(module);
}
