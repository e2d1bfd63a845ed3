import type { ClientSide } from "../bridge/client-side.ts";

/** A server that is started as a child process for each client. */
export interface ChildTarget {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** All HTTP clients of one server. */
export interface Service extends ClientSide {
  readonly isReady: () => boolean;
}
