import type { Visit } from "../link/http/door.ts";

/** A way in for clients by HTTP, whatever stands behind it. */
export interface ClientSide {
  /** Takes a request. False where its path does not belong to this side. */
  visit(visit: Visit): boolean;
  /** Whether a client waits for a response that will come by another stream than the request did. */
  owes(): boolean;
  /** Tells clients that the tools have changed. */
  announce(): void;
  /** Answers pending requests with an error, ends the sessions, and gives servers that are ours the time they need. */
  close(): Promise<void>;
  /** Ends it now. */
  destroy(): void;
}

/** The paths at which clients reach one server. */
export interface Paths {
  /** Streamable HTTP. */
  readonly mcp: string;
  /** The transport of 2024-11-05: its stream, and where its messages are sent. */
  readonly sse: string;
  readonly messages: string;
}

/** The paths below a base, which is empty or begins with a slash and does not end with one. */
export function pathsBelow(base: string): Paths {
  return { mcp: `${base}/mcp`, sse: `${base}/sse`, messages: `${base}/messages` };
}

/** Makes one side of several. A request belongs to the first that takes it. */
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
