import type { ToolFilter } from "../policy/tool-filter.ts";
import type { Catalogue } from "../session/catalogue.ts";
import type { Era } from "../session/era.ts";
import { freezeDeeply } from "./freeze.ts";
import type { FilteredTool } from "./model.ts";

/** The connection to a server, at one moment. Nothing in it can be changed, and it does not change by itself: ask again. */
export interface UpstreamConnection {
  /** Where the server was found, with names, passwords and query masked; null for a child process. */
  readonly url: string | null;
  /** Whether the server is there. Where each session has a process of its own: whether such processes can be started. */
  readonly state: "connected" | "disconnected";
  /** When that came to be, in milliseconds since 1970. */
  readonly since: number;
  /**
   * How the server is spoken to: with a handshake (up to 2025-11-25), or with everything in each request (2026-07-28 and
   * later). Null before that is known.
   */
  readonly era: Era | null;
  /**
   * The tools that the filter shows to clients; a rule may hide some of them. Null where the list is not known: before it
   * was learnt, where each session learns its own, and for a child process without a filter, whose lists pass unread.
   */
  readonly tools: readonly FilteredTool[] | null;
}

/** What is known of a server's tools, by era. */
export type Catalogues = Readonly<Record<Era, Catalogue>>;

/** Keeps track of a connection. */
export interface ConnectionKeeper {
  /** The connection now. */
  look(): UpstreamConnection;
  /** The server is there, or is not. */
  change(state: UpstreamConnection["state"]): void;
}

/** What is needed to keep track. */
export interface ConnectionOptions {
  readonly url: string | null;
  /** What is known of the tools; null where each session learns that for itself. */
  readonly catalogues: Catalogues | null;
  /** Whether a handshake is over, where there is one client. */
  readonly hasBegun?: () => boolean;
  /** The filter that holds now. */
  readonly filter: () => ToolFilter | null;
  readonly time?: () => number;
}

/** Begins with a server that is there. */
export function createConnection(options: ConnectionOptions): ConnectionKeeper {
  const { url, catalogues, hasBegun = () => false, filter, time = Date.now } = options;
  let state: UpstreamConnection["state"] = "connected";
  let since = time();
  // The last list that was asked for, and what it was made of: most looks find it unchanged.
  let made: { readonly catalogue: Catalogue; readonly version: number; readonly by: ToolFilter | null } | null = null;
  let tools: readonly FilteredTool[] | null = null;

  function list(catalogue: Catalogue): readonly FilteredTool[] | null {
    const by = filter();
    const { version } = catalogue;
    if (made?.catalogue === catalogue && made.version === version && made.by === by) return tools;
    const allowed = by?.view(catalogue).allowed;
    const shown = catalogue.tools.filter(({ name }) => allowed === undefined || allowed.has(name));
    tools = freezeDeeply(shown.map(({ raw }) => JSON.parse(raw.toString("utf8")) as FilteredTool));
    made = { catalogue, version, by };
    return tools;
  }

  return {
    look() {
      const known = catalogues === null ? undefined : ERAS.find((each) => catalogues[each].isComplete);
      const era = known ?? (hasBegun() ? "stateful" : null);
      const listed = known === undefined || catalogues === null ? null : list(catalogues[known]);
      return Object.freeze({ url, state, since, era, tools: listed });
    },
    change(next) {
      if (next === state) return;
      state = next;
      since = time();
    },
  };
}

const ERAS = ["stateful", "stateless"] as const;
