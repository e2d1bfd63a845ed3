import { setTimeout as delay } from "node:timers/promises";
import { CLOSED } from "../bridge/answers.ts";
import { pathsBelow } from "../bridge/client-side.ts";
import { ProxyError } from "../errors.ts";
import { createGate } from "../link/http/gate.ts";
import type { Door } from "../link/http/door.ts";
import { makeRoomFor } from "../link/memory.ts";
import { showText } from "../message/text.ts";
import { canNameClient } from "../config/identity-header.ts";
import type { ToolFilter } from "../policy/tool-filter.ts";
import type { Log } from "../record/log/log.ts";
import { type ConnectionKeeper, createConnection } from "./connection.ts";
import type { ConversationEnd } from "./conversation.ts";
import { freezeDeeply } from "./freeze.ts";
import { checkBind, type ListenOptions, openGateway } from "./gateway.ts";
import { readLimits } from "./fit-limits.ts";
import type { Hub } from "./hub.ts";
import { adopt, type Attached, type Judging, needsEngine, openHub, readToolPatterns, startJudging } from "./judging.ts";
import { DEFAULT_TIMEOUTS, type Limits, type Timeouts } from "./limits.ts";
import type { ProxyConfig } from "./model.ts";
import { composeHeaders, readLog } from "./options.ts";
import type { ListenSettings, Proxy, ProxyOptions } from "./proxy-options.ts";
import { findRemote, joinRemote, type RemoteOptions } from "./remote.ts";
import { createChildService } from "./serve-child.ts";
import type { Service } from "./service.ts";
import { createRemoteService } from "./serve-remote.ts";

/** What both kinds of server side need. */
interface Parts {
  readonly hub: Hub;
  readonly log: Log;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly judged: Judging | null;
}

/** A running proxy, as seen from here. */
interface Running {
  readonly url: string | null;
  readonly connection: ConnectionKeeper;
  readonly ended: Promise<ConversationEnd>;
  /** Call when the server is gone for good. */
  lose(): void;
  stop(): void;
  abandon(): void;
  /** Notifies clients that the tools have changed. */
  announce(): void;
}

/** Starts a proxy that uses HTTP on one side or both. Resolves when it is ready; rejects with a ProxyError. */
export async function createHttpProxy(options: ProxyOptions, attached: Attached = {}): Promise<Proxy> {
  const log = readLog(options);
  const limits = readLimits(options, log);
  makeRoomFor(limits.maxMessageBytes);
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const shared = { log, limits, timeouts, attached };
  const judged = needsEngine(options) ? await startJudging(options, shared) : null;
  const hub = judged?.hub ?? (await openHub(options, shared));
  const parts = { ...shared, hub, judged };
  const start = options.upstream === undefined ? startChildren : startRemote;
  const running = await start(options, parts).catch((error: unknown) => {
    judged?.engine.destroy();
    throw error;
  });
  return finish(running, parts, describeConfig(options, timeouts));
}

function describeConfig(options: ProxyOptions, { connection, toolList }: Timeouts): ProxyConfig | null {
  const { upstream: upstreamUrl } = options;
  if (upstreamUrl === undefined) return null;
  const denyPatterns = readToolPatterns(options, "deny").map(({ source }) => source);
  return freezeDeeply({ upstreamUrl, denyPatterns, timeouts: { connection, toolList } });
}

async function startChildren({ command = [], env = {}, cwd, listen }: ProxyOptions, parts: Parts): Promise<Running> {
  if (listen === undefined) throw new Error("a child on stdin and stdout needs no HTTP");
  const place = readListen(listen);
  const service = await createChildService({ paths: PATHS, server: { command, env, cwd }, ...parts });
  const filter = (): ToolFilter | null => parts.hub.rulebook.current.policy.tools;
  const connection = createConnection({ url: null, catalogues: service.catalogues, filter });
  return openAndServe(place, service, new Set(), connection, parts);
}

async function startRemote(options: ProxyOptions, parts: Parts): Promise<Running> {
  const { log, limits, timeouts, hub } = parts;
  const { upstream = "", onLoss = "exit", loginDirectory = null, version = "unknown", ca = null } = options;
  const listen = options.listen === undefined ? null : readListen(options.listen);
  const headers = composeHeaders(options.headers ?? {});
  let running: Running | null = null;
  let isLost = false;
  let connection: ConnectionKeeper | null = null;
  const remoteOptions: RemoteOptions = {
    upstream,
    headers,
    ca,
    limits,
    timeouts,
    version,
    log,
    hub,
    // A login needs a user at a screen, which is assumed only for a client on stdio.
    loginDirectory: listen === null ? loginDirectory : null,
    onChange(isThere) {
      log.warn(isThere ? "the server is back" : "the server cannot be reached", { server: hub.server });
      connection?.change(isThere ? "connected" : "disconnected");
      if (isThere || onLoss === "keep") return;
      isLost = true;
      running?.lose();
    },
  };
  const remote = await findRemote(remoteOptions);
  const { found, knowledge } = remote;
  const filter = (): ToolFilter | null => hub.rulebook.current.policy.tools;
  connection = createConnection({ url: found.address.shown, catalogues: knowledge && found.catalogues, filter });
  if (listen === null) {
    const client = options.client ?? { input: process.stdin, output: process.stdout };
    running = { ...joinRemote(remote, client, remoteOptions), url: null, connection };
  } else {
    const service = createRemoteService({
      paths: PATHS,
      server: remote,
      hub,
      limits,
      timeouts,
      isGuarded: listen.gate !== null,
      isSecure: listen.tls !== null,
    });
    running = await openAndServe(listen, service, namesOf(remote.headers()), connection, parts);
  }
  if (isLost) running.lose();
  return running;
}

/** Fills in the defaults of the settings. */
function readListen(settings: ListenSettings): ListenOptions {
  const {
    port,
    host = "127.0.0.1",
    tls = null,
    hosts = [],
    origins = [],
    auth,
    identityHeader,
    insecureBind = false,
  } = settings;
  if (identityHeader !== undefined && !canNameClient(identityHeader)) {
    const remedy = "Name one that a proxy sets, such as X-Forwarded-User";
    throw new ProxyError("BAD_USAGE", `The header ${showText(identityHeader, 60)} cannot name the client`, remedy);
  }
  const options = {
    port,
    host,
    tls,
    hosts,
    origins,
    gate: auth === undefined ? null : createGate(auth),
    identityHeader: identityHeader?.toLowerCase() ?? null,
    issuers: auth !== undefined && "issuer" in auth ? [auth.issuer] : [],
    isInsecure: insecureBind,
  };
  checkBind(options);
  return options;
}

function finish(running: Running, { log, hub, judged }: Parts, config: ProxyConfig | null): Proxy {
  async function conclude(): Promise<ConversationEnd> {
    try {
      return await running.ended;
    } finally {
      await judged?.engine.close();
      running.connection.change("disconnected");
      hub.reporter.end();
      hub.witness.end();
      log.debug("counts", hub.witness.counts());
    }
  }
  return {
    url: running.url,
    get connection() {
      return running.connection.look();
    },
    config,
    get policyVersion() {
      return hub.rulebook.current.stamp?.version ?? "";
    },
    ended: conclude(),
    reload: (policy) => adopt(judged, policy, () => running.announce()),
    sessions: () => judged?.engine.sessions() ?? [],
    stop: () => running.stop(),
    abandon() {
      judged?.engine.destroy();
      running.abandon();
    },
  };
}

async function openAndServe(
  listen: ListenOptions,
  service: Service,
  without: ReadonlySet<string>,
  connection: ConnectionKeeper,
  { hub, limits, log, timeouts }: Parts,
): Promise<Running> {
  try {
    const door = await openGateway(listen, { hub, limits, log, paths: PATHS }, { ...service, without });
    return { ...serve(door, timeouts.drain, service), connection };
  } catch (error) {
    service.destroy();
    throw error;
  }
}

/** Keeps a door open until the proxy is stopped. */
function serve(door: Door, drainMs: number, service: Service): Omit<Running, "connection"> {
  let conclude: ((end: ConversationEnd) => void) | undefined;
  const ended = new Promise<ConversationEnd>((resolve) => {
    conclude = resolve;
  });
  let isStopping = false;
  let isOver = false;
  const end = async (lost: boolean, code = 1): Promise<void> => {
    if (isOver) return;
    isOver = true;
    void service.close();
    door.refuse(CLOSED);
    await delay(FLUSH_MS);
    door.close();
    service.destroy();
    conclude?.({ code, lost, child: null });
  };

  /** Lets accepted requests be answered, then ends the sessions and their streams, and with them the connections. */
  async function wind(): Promise<void> {
    const until = Date.now() + drainMs;
    const drained = door.drain();
    const answered = door.answered().then(() => true);
    const isAnswered = await Promise.race([answered, delay(drainMs, false, { ref: false })]);
    while (service.owes() && Date.now() < until) await delay(20);
    // Open requests have been answered by the server, or have timed out. Streams that only listen are closed now.
    const isClean = isAnswered && !service.owes();
    const closed = service.close();
    door.refuse(CLOSED);
    const left = Math.max(until - Date.now(), FLUSH_MS);
    await Promise.all([closed, Promise.race([drained, delay(left, undefined, { ref: false })])]);
    await end(false, isClean ? 0 : 1);
  }

  return {
    url: door.url + PATHS.mcp,
    ended,
    announce: () => service.announce(),
    lose: () => void setTimeout(() => void end(true), LAST_WORDS_MS),
    stop() {
      void (isStopping ? end(false) : wind());
      isStopping = true;
    },
    abandon() {
      door.close();
      service.destroy();
    },
  };
}

/** There is one server, so its paths have no prefix. */
const PATHS = pathsBelow("");

/** How long open requests have to be answered with an error after the server is lost. */
const LAST_WORDS_MS = 300;
/** How long the last output may take to be written. */
const FLUSH_MS = 100;

/** The lower-case names in header lines. */
function namesOf(lines: string): Set<string> {
  return new Set([...lines.matchAll(/^([^:\r\n]+):/gm)].map(([, name]) => name.toLowerCase()));
}
