import { setTimeout as delay } from "node:timers/promises";
import { CLOSED } from "../bridge/answers.ts";
import { descriptorLimit } from "../link/descriptors.ts";
import { createGate } from "../link/http/gate.ts";
import type { Door, Visit } from "../link/http/door.ts";
import { makeRoomFor } from "../link/memory.ts";
import type { Log } from "../record/log.ts";
import type { ConversationEnd } from "./conversation.ts";
import { checkBind, type ListenOptions, openGateway } from "./gateway.ts";
import { fitLimits } from "./fit-limits.ts";
import type { Hub } from "./hub.ts";
import { adopt, type Judging, needsEngine, openHub, startJudging } from "./judging.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, type Limits, type Timeouts } from "./limits.ts";
import type { ProxyConfig } from "./model.ts";
import { composeHeaders, readLog, readPatterns } from "./options.ts";
import type { ListenSettings, Proxy, ProxyOptions } from "./proxy.ts";
import { findRemote, joinRemote, type RemoteOptions } from "./remote.ts";
import { createChildService } from "./serve-child.ts";
import { createRemoteService } from "./serve-remote.ts";

/** What both kinds of server side need. */
interface Parts {
  readonly hub: Hub;
  readonly log: Log;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly judged: Judging | null;
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
  /** Whether somebody waits whose request has been answered already: by the older transport it is, at once. */
  readonly owes: () => boolean;
  /** Tells clients that the tools are others from now on. */
  announce(): void;
  /** Ends it: whoever still waits is told at once, and servers that are ours get the time they need. */
  close(): Promise<void>;
  destroy(): void;
}

/** What a client side looks like from here. */
interface Running {
  readonly url: string | null;
  readonly ended: Promise<ConversationEnd>;
  /** The server is gone for good. */
  lose(): void;
  stop(): void;
  abandon(): void;
  /** Tells clients that the tools are others from now on. */
  announce(): void;
}

/** Starts a proxy that speaks HTTP on one side or both. Resolves when it works; rejects with a ProxyError. */
export async function createHttpProxy(options: ProxyOptions): Promise<Proxy> {
  const log = readLog(options);
  const limits = readLimits(options, log);
  makeRoomFor(limits.maxMessageBytes);
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const shared = { log, limits, timeouts };
  const judged = needsEngine(options) ? await startJudging(options, shared) : null;
  const hub = judged?.hub ?? (await openHub(options, shared));
  const parts = { ...shared, hub, judged };
  const start = options.upstream === undefined ? startChildren : startRemote;
  const running = await start(options, parts).catch((error: unknown) => {
    judged?.engine.destroy();
    throw error;
  });
  const { connection, toolList } = timeouts;
  const denyPatterns = readPatterns(options, "deny").map(({ source }) => source);
  const { upstream: upstreamUrl } = options;
  const config = upstreamUrl === undefined ? null : { upstreamUrl, denyPatterns, timeouts: { connection, toolList } };
  return finish(running, parts, config);
}

/** The limits, lowered where there are too few file descriptors for them. */
function readLimits({ limits, upstream, listen }: ProxyOptions, log: Log): Limits {
  const wanted = { ...DEFAULT_LIMITS, ...limits };
  const descriptors = descriptorLimit();
  const fitting = fitLimits(wanted, upstream === undefined, descriptors);
  if (listen !== undefined && fitting.maxConnections < Math.min(wanted.maxConnections, FEW_CONNECTIONS))
    log.info("few files and sockets may be open", { limit: descriptors, connections: fitting.maxConnections });
  return fitting;
}

/** Fewer than this are worth a line in the log. */
const FEW_CONNECTIONS = 1000;

async function startChildren({ command = [], env = {}, cwd, listen }: ProxyOptions, parts: Parts): Promise<Running> {
  if (listen === undefined) throw new Error("a child on stdin and stdout needs no HTTP");
  const place = readListen(listen);
  const service = await createChildService({ server: { command, env, cwd }, ...parts });
  return openAndServe(place, service, new Set(), parts);
}

async function startRemote(options: ProxyOptions, parts: Parts): Promise<Running> {
  const { log, limits, timeouts, hub } = parts;
  const { upstream = "", onLoss = "exit", loginDirectory = null, version = "unknown", ca = null } = options;
  const listen = options.listen === undefined ? null : readListen(options.listen);
  const headers = composeHeaders(options.headers ?? {});
  let running: Running | null = null;
  let isLost = false;
  const remoteOptions: RemoteOptions = {
    upstream,
    headers,
    ca,
    limits,
    timeouts,
    version,
    log,
    hub,
    // A login needs somebody at a screen: whoever started us with a client on stdin.
    loginDirectory: listen === null ? loginDirectory : null,
    onChange(isThere) {
      log.warn(isThere ? "the server is back" : "the server cannot be reached");
      if (isThere || onLoss === "keep") return;
      isLost = true;
      running?.lose();
    },
  };
  const remote = await findRemote(remoteOptions);
  if (listen === null) {
    const client = options.client ?? { input: process.stdin, output: process.stdout };
    running = { ...joinRemote(remote, client, remoteOptions), url: null };
  } else {
    const service = createRemoteService({
      server: remote,
      hub,
      limits,
      timeouts,
      isGuarded: listen.gate !== null,
      isSecure: listen.tls !== null,
    });
    running = await openAndServe(listen, service, namesOf(remote.headers()), parts);
  }
  if (isLost) running.lose();
  return running;
}

/** Settings with all that was left out. */
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
      hub.reporter.end();
      log.debug("counts", hub.witness.counts());
    }
  }
  return {
    url: running.url,
    config,
    ended: conclude(),
    reload: (policy) => adopt(judged, policy, () => running.announce()),
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
  { hub, limits, log, timeouts }: Parts,
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

  /** Lets requests that were accepted be answered, then ends the sessions and their streams, and with them the connections. */
  async function wind(): Promise<void> {
    const until = Date.now() + drainMs;
    const drained = door.drain();
    const answered = door.answered().then(() => true);
    const isAnswered = await Promise.race([answered, delay(drainMs, false, { ref: false })]);
    while (service.owes() && Date.now() < until) await delay(20);
    // Who was waiting has an answer of the server's. Who only listened is told that it is over.
    const isClean = isAnswered && !service.owes();
    const closed = service.close();
    door.refuse(CLOSED);
    const left = Math.max(until - Date.now(), FLUSH_MS);
    await Promise.all([closed, Promise.race([drained, delay(left, undefined, { ref: false })])]);
    await end(false, isClean ? 0 : 1);
  }

  return {
    url: `${door.url}/mcp`,
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

/** How long those who wait have to hear that the server is gone. */
const LAST_WORDS_MS = 300;
/** How long what we say last has to leave. */
const FLUSH_MS = 100;

/** The names in header lines, lower-case. */
function namesOf(lines: string): Set<string> {
  return new Set([...lines.matchAll(/^([^:\r\n]+):/gm)].map(([, name]) => name.toLowerCase()));
}
