import type { Door, Visit } from "../link/http/door.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Log } from "../record/log.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { ClientSide, ConversationEnd } from "./conversation.ts";
import { type ListenOptions, openGateway } from "./gateway.ts";
import { createHub, type Hub } from "./hub.ts";
import type { Limits, Timeouts } from "./limits.ts";
import type { Proxy } from "./proxy.ts";
import { findRemote, joinRemote, type RemoteOptions } from "./remote.ts";
import { createChildService } from "./serve-child.ts";
import { createRemoteService } from "./serve-remote.ts";

/** What a proxy is made of that speaks HTTP on one side or both. */
export interface HttpProxyOptions {
  readonly server: RemoteTarget | ChildTarget;
  /** Where clients come in; null for our own stdin and stdout. */
  readonly listen: ListenOptions | null;
  readonly client: ClientSide;
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
  readonly log: Log;
  readonly audit: ((event: AuditEvent) => void) | null;
  readonly auditAll: boolean;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly version: string;
}

/** A server at a URL. */
export interface RemoteTarget {
  readonly upstream: string;
  readonly headers: string;
  readonly ca: string | null;
  readonly loginDirectory: string | null;
  /** What happens when it is gone. */
  readonly onLoss: "exit" | "keep";
}

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
  close(): Promise<void>;
  destroy(): void;
}

/** What a client side looks like from here. */
interface Running {
  readonly ended: Promise<ConversationEnd>;
  /** The server is gone for good. */
  lose(): void;
  stop(): void;
  abandon(): void;
}

/** Starts a proxy. Resolves when it works; rejects with a ProxyError. */
export async function createHttpProxy(options: HttpProxyOptions): Promise<Proxy> {
  const { server, listen, log, limits, timeouts, version } = options;
  const hub = createHub(options);
  let running: Running | null = null;
  let isLost = false;
  if ("command" in server) {
    if (listen === null) throw new Error("a child on stdin and stdout needs no HTTP");
    const service = await createChildService({ server, hub, limits, timeouts, log });
    running = await openAndServe(listen, service, new Set(), options, hub);
    return finish(running, options, hub);
  }
  const remoteOptions: RemoteOptions = {
    ...server,
    limits,
    timeouts,
    version,
    log,
    hub,
    // A login needs somebody at a screen: whoever started us with a client on stdin.
    loginDirectory: listen === null ? server.loginDirectory : null,
    onChange(isThere) {
      log.warn(isThere ? "the server is back" : "the server cannot be reached");
      if (isThere || server.onLoss === "keep") return;
      isLost = true;
      running?.lose();
    },
  };
  const remote = await findRemote(remoteOptions);
  if (listen === null) running = joinRemote(remote, options.client, remoteOptions);
  else {
    const service = createRemoteService({
      server: remote,
      hub,
      limits,
      timeouts,
      isGuarded: listen.gate !== null,
      isSecure: listen.tls !== null,
    });
    running = await openAndServe(listen, service, namesOf(server.headers), options, hub);
  }
  if (isLost) running.lose();
  return finish(running, options, hub);
}

function finish(running: Running, { log }: HttpProxyOptions, hub: Hub): Proxy {
  return {
    ended: running.ended.finally(() => {
      hub.reporter.end();
      log.debug("counts", hub.witness.counts());
    }),
    stop: () => running.stop(),
    abandon: () => running.abandon(),
  };
}

async function openAndServe(
  listen: ListenOptions,
  service: Service,
  without: ReadonlySet<string>,
  { limits, log, timeouts }: HttpProxyOptions,
  hub: Hub,
): Promise<Running> {
  try {
    const door = await openGateway(listen, { hub, limits, log }, { ...service, without });
    return serve(door, timeouts.drain, service);
  } catch (error) {
    service.destroy();
    throw error;
  }
}

/** Keeps a door open until somebody says otherwise. */
function serve(door: Door, drainMs: number, service: Service): Running {
  let conclude: ((end: ConversationEnd) => void) | undefined;
  const ended = new Promise<ConversationEnd>((resolve) => {
    conclude = resolve;
  });
  let isStopping = false;
  let isOver = false;
  const end = (lost: boolean): void => {
    if (isOver) return;
    isOver = true;
    door.close();
    service.destroy();
    conclude?.({ code: 1, lost, child: null });
  };
  return {
    ended,
    lose: () => void setTimeout(() => end(true), LAST_WORDS_MS),
    stop() {
      if (isStopping) return end(false);
      isStopping = true;
      setTimeout(() => end(false), drainMs).unref();
      // Whoever waits is answered; then the streams end, and with them the connections.
      void Promise.all([door.drain(), settle(door, service)]).then(() => end(false));
    },
    abandon() {
      door.close();
      service.destroy();
    },
  };
}

/** Lets requests that were accepted be answered, then ends the sessions and their streams. */
async function settle(door: Door, service: Service): Promise<void> {
  await door.answered();
  await service.close();
}

/** How long those who wait have to hear that the server is gone. */
const LAST_WORDS_MS = 300;

/** The names in header lines, lower-case. */
function namesOf(lines: string): Set<string> {
  return new Set([...lines.matchAll(/^([^:\r\n]+):/gm)].map(([, name]) => name.toLowerCase()));
}
