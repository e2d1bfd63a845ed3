import { createChildEnd, type Nursery, openNursery } from "../bridge/child-end.ts";
import type { Paths } from "../bridge/client-side.ts";
import { createHost } from "../bridge/host.ts";
import type { ServerEnd, ServerListener } from "../bridge/server-end.ts";
import { createShared } from "../bridge/shared.ts";
import { createCatalogues } from "../session/catalogue.ts";
import type { Log } from "../record/log/log.ts";
import type { Catalogues } from "./connection.ts";
import type { Hub } from "./hub.ts";
import type { ChildTarget, Service } from "./service.ts";
import type { Limits, Timeouts } from "./limits.ts";

/** Options of the service. */
export interface ChildServiceOptions {
  /** The paths for clients. */
  readonly paths: Paths;
  readonly server: ChildTarget;
  readonly hub: Hub;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly log: Log;
  /** The source of processes, if the command is not to be started here. */
  readonly nursery?: Nursery;
}

/** Serves HTTP clients with child processes: one for each session, and one for all requests without a session. */
export async function createChildService(
  options: ChildServiceOptions,
): Promise<Service & { readonly catalogues: Catalogues | null }> {
  const { paths, server, hub, limits, timeouts, log } = options;
  const [command, ...args] = server.command;
  const { env, cwd } = server;
  const nursery =
    options.nursery ?? (await openNursery({ command, args, env, cwd, onTrouble: (text) => log.warn(text) }));
  const ends = new Set<ServerEnd>();

  /** Names the command only now: most servers never end by themselves, and loading what masks secrets takes time. */
  async function tellEnd(pid: number, code: number | null, signal: string | null): Promise<void> {
    const { nameServer } = await import("./server-name.ts");
    log.warn("a server ended", { pid, code, signal, server: nameServer(server) });
  }

  async function open(listener: ServerListener, onEnd: () => void): Promise<ServerEnd> {
    const child = await nursery.take();
    log.debug("started", { command, pid: child.pid });
    const end = createChildEnd({
      child,
      listener,
      maxMessageBytes: limits.maxMessageBytes,
      maxBufferBytes: limits.maxBufferBytes,
      graceMs: timeouts.childGrace,
      tap: hub.tap,
      onEnd() {
        ends.delete(end);
        void child.ended.then(({ code, signal }) => tellEnd(child.pid, code, signal));
        onEnd();
      },
    });
    ends.add(end);
    return {
      ...end,
      get isFull() {
        return end.isFull;
      },
      close: () => end.close().finally(() => ends.delete(end)),
    };
  }

  // The tools are learnt once for all processes, or by each session from its own process.
  const isShared = hub.tools.cache === "startup";
  const catalogues = isShared ? createCatalogues(hub.seats.now, hub.tools.refresh === "never") : null;
  const seats = catalogues === null ? hub.seats : { ...hub.seats, catalogues };
  const stateless = createShared({ seats, open, maxBehindBytes: 2 * limits.maxMessageBytes });
  const host = createHost({
    paths,
    transports: ["streamable", "sse"],
    seats,
    knowledge: null,
    open,
    maxMessageBytes: limits.maxMessageBytes,
    maxSessions: limits.maxChildren,
    idleMs: timeouts.sessionIdle,
    stateless,
  });

  return {
    ...host,
    catalogues,
    isReady: () => true,
    async close() {
      nursery.close();
      await Promise.all([host.close(), stateless.close()]);
    },
    destroy() {
      nursery.close();
      for (const end of ends) end.destroy();
    },
  };
}
