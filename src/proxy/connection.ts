import type { ToolFilter } from "../policy/tool-filter.ts";
import type { Catalogue } from "../session/catalogue.ts";
import type { Era } from "../message/protocol.ts";
import { freezeDeeply } from "./freeze.ts";
import type { FilteredTool } from "./model.ts";

/** The connection to a server at one moment. The object is frozen: read `proxy.connection` again to see changes. */
export interface UpstreamConnection {
  /** The URL at which the server was found, with user name, password and query masked; null for a child process. */
  readonly url: string | null;
  /** Whether the server can be reached. If each session has its own process: whether such processes can be started. */
  readonly state: "connected" | "disconnected";
  /** The time of the last change of `state`, in milliseconds since 1970. */
  readonly since: number;
  /**
   * `stateful` if the server needs a handshake (revisions up to 2025-11-25), `stateless` if each request is complete by
   * itself (2026-07-28 and later). Null before that is known.
   */
  readonly era: Era | null;
  /**
   * The tools that the filter shows to clients; a rule may hide more of them. Null if the list is not known: before
   * Fairlead has seen it, if each session has its own list, and for a child process without a filter, whose lists are
   * forwarded without being read.
   */
  readonly tools: readonly FilteredTool[] | null;
}

/** The known tools of a server, by era. */
export type Catalogues = Readonly<Record<Era, Catalogue>>;

/** Keeps track of a connection. */
export interface ConnectionKeeper {
  /** The current state of the connection. */
  look(): UpstreamConnection;
  /** Call when the server becomes reachable or unreachable. */
  change(state: UpstreamConnection["state"]): void;
}

/** Options of a connection keeper. */
export interface ConnectionOptions {
  readonly url: string | null;
  /** The known tools; null if each session learns them itself. */
  readonly catalogues: Catalogues | null;
  /** Whether the handshake is complete, if there is only one client. */
  readonly hasBegun?: () => boolean;
  /** The current filter. */
  readonly filter: () => ToolFilter | null;
  readonly time?: () => number;
}

/** Starts in the state "connected". */
export function createConnection(options: ConnectionOptions): ConnectionKeeper {
  const { url, catalogues, hasBegun = () => false, filter, time = Date.now } = options;
  let state: UpstreamConnection["state"] = "connected";
  let since = time();
  // The last list that was returned, and what it was computed from: it is usually unchanged.
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
