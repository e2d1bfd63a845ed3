import type { Visit } from "../link/http/door.ts";

/** An entry point for HTTP clients, whatever the transport of the server. */
export interface ClientSide {
  /** Takes a request. False where its path does not belong to this side. */
  visit(visit: Visit): boolean;
  /** Whether a client waits for a response that will come by another stream than the request did. */
  owes(): boolean;
  /** Tells clients that the tools have changed. */
  announce(): void;
  /** Answers open calls with an error, ends the sessions, and gives child processes time to exit. */
  close(): Promise<void>;
  /** Ends it without waiting. */
  destroy(): void;
}

/** The paths at which clients reach one server. */
export interface Paths {
  /** Streamable HTTP. */
  readonly mcp: string;
  /** The HTTP+SSE transport of 2024-11-05: the path of its event stream, and the path for its messages. */
  readonly sse: string;
  readonly messages: string;
}

/** The paths below a base path. The base is empty, or begins with a slash and does not end with one. */
export function pathsBelow(base: string): Paths {
  return { mcp: `${base}/mcp`, sse: `${base}/sse`, messages: `${base}/messages` };
}

/** Joins several sides into one. The first side that accepts a request serves it. */
export function joinSides(sides: readonly ClientSide[]): ClientSide {
  return {
    visit: (visit) => sides.some((side) => side.visit(visit)),
    owes: () => sides.some((side) => side.owes()),
    announce() {
      for (const side of sides) side.announce();
    },
    async close() {
      await Promise.all(sides.map((side) => side.close()));
    },
    destroy() {
      for (const side of sides) side.destroy();
    },
  };
}
