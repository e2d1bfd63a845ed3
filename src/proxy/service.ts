import type { Visit } from "../link/http/door.ts";

/** A server that is started for each client. */
export interface ChildTarget {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** Whoever serves clients that come by HTTP. */
export interface Service {
  readonly isReady: () => boolean;
  /** Takes a request. False where it asks for something that is not here. */
  visit(visit: Visit): boolean;
  /** Whether somebody waits whose request has been answered already: by the older transport it is, at once. */
  readonly owes: () => boolean;
  /** Tells clients that the tools are others from now on. */
  announce(): void;
  /** Ends it: whoever still waits is told at once, and servers that are ours get the time they need. */
  close(): Promise<void>;
  destroy(): void;
}
