/** What is known in addition to the text of a policy file, to find more mistakes. Each member may be missing. */
export interface Facts {
  /** Why the proxy would refuse a webhook at start, and what to do about it; null if it would not. */
  webhook?(url: string, allowPrivate: boolean): WebhookRefusal | null;
  /** Whether a file exists. The path may be relative to the folder of the policy file. */
  hasFile?(path: string): boolean;
  /** The tools of the server, if it was asked for them. */
  readonly tools?: readonly ToolFacts[];
}

/** The name and the input schema of a tool. */
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

/** Whether a module is given by a path instead of a package name. */
export function isModulePath(module: string): boolean {
  return /^\.|\.[cm]?[jt]s$|^[\\/]/.test(module);
}
