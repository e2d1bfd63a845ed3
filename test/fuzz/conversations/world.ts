import { pathsBelow } from "../../../src/bridge/client-side.ts";
import { CLOSED } from "../../../src/bridge/answers.ts";
import { announce } from "../../../src/bridge/announce.ts";
import { createSeat } from "../../../src/bridge/seats.ts";
import type { Interceptor } from "../../../src/rules/interceptors/interceptor.ts";
import type { PolicySettings } from "../../../src/config/settings.ts";
import { createConversation, type Conversation } from "../../../src/proxy/conversation.ts";
import { openGateway } from "../../../src/proxy/gateway.ts";
import { adopt, startJudging } from "../../../src/proxy/judging.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from "../../../src/proxy/limits.ts";
import { createProxy } from "../../../src/proxy/proxy.ts";
import { createChildService } from "../../../src/proxy/serve-child.ts";
import { createLog } from "../../../src/record/log/log.ts";
import { type ChildServerEnd, createChildServer } from "./child-server.ts";
import type { ClientEnd } from "./client-end.ts";
import { createGate, type Gate } from "./gate.ts";
import { createHttpClient } from "./http-client.ts";
import { type HttpServerEnd, startHttpServer } from "./http-server.ts";
import { createLinesClient } from "./lines-client.ts";
import type { Setting } from "./plan.ts";
import { readPolicies } from "./policies.ts";
import { createScript, type Script } from "./script.ts";
import type { ServerEnd } from "./server-end.ts";
import { createSseClient } from "./sse-client.ts";
import { startSseServer } from "./sse-server.ts";
import type { Stage } from "./stage.ts";

/** Clients, a proxy and a server, all in this process. */
export interface World {
  readonly clients: readonly ClientEnd[];
  readonly server: ServerEnd;
  readonly script: Script;
  /** Whether the server went away, and connections may break off because of it. */
  isBroken: boolean;
  /** Whether a client does not read. What is said to it, and what it says, may then have to wait. */
  isHeld: boolean;
  /** Holds messages back in the proxy. */
  readonly gate: Gate;
  reload(policy: number): Promise<void>;
  close(): void;
}

/** The proxy between the ends. */
interface Middle {
  readonly port: number;
  reload(policy: PolicySettings): Promise<void>;
  close(): void;
}

const LIMITS = { ...DEFAULT_LIMITS, maxMessageBytes: 1_048_576 };
const SILENT = createLog({ write: () => {} });

/** Puts a world together, as the command does it, but for the processes. */
export async function openWorld(stage: Stage, setting: Setting): Promise<World> {
  const { client, server: kind, revision, isPaged, policy } = setting;
  const script = createScript(stage, { revision, isPaged });
  const policies = await readPolicies({ cache: setting.cache, refresh: setting.refresh });
  const lines = client === "stdio" ? createLinesClient(stage) : null;
  const children = kind === "stdio" ? createChildServer(stage, script, client !== "stdio") : null;
  const remote =
    kind === "http"
      ? await startHttpServer(stage, script, setting)
      : kind === "sse"
        ? await startSseServer(stage, script)
        : null;
  const server = (children ?? remote) as ServerEnd;
  const gate = createGate(() => stage.pulse.beat());
  const start = { setting, policy: policies[policy], lines, interceptors: [gate.interceptor] };
  const middle =
    children === null
      ? await startRemote(start, remote as HttpServerEnd)
      : lines === null
        ? await startHosting(start, children)
        : await joinLines(start, children);
  const world: World = {
    clients: lines === null ? Array.from({ length: setting.clients }, (_, number) => createClient(number)) : [lines],
    server,
    script,
    isBroken: false,
    isHeld: false,
    gate,
    reload: (next) => middle.reload(policies[next]),
    close() {
      for (const each of world.clients) each.close();
      middle.close();
      server.close();
    },
  };
  return world;

  function createClient(number: number): ClientEnd {
    if (client === "sse") return createSseClient(stage, number, middle.port, () => world.isBroken);
    return createHttpClient(stage, number, middle.port, revision, () => world.isBroken);
  }
}

interface Start {
  readonly setting: Setting;
  readonly policy: PolicySettings;
  readonly lines: ReturnType<typeof createLinesClient> | null;
  readonly interceptors: readonly Interceptor[];
}

function limitsOf({ maxOpenCalls }: Setting): typeof LIMITS {
  return { ...LIMITS, maxOpenCalls };
}

/** A server at a URL. */
async function startRemote({ setting, policy, lines, interceptors }: Start, { url }: HttpServerEnd): Promise<Middle> {
  const proxy = await createProxy({
    log: null,
    upstream: url,
    policy,
    interceptors,
    limits: limitsOf(setting),
    onLoss: setting.onLoss,
    ...(lines === null ? { listen: { port: 0 } } : { client: lines }),
  });
  return {
    port: Number(new URL(proxy.url ?? "http://127.0.0.1:1").port),
    reload: (next) => proxy.reload(next),
    close() {
      proxy.abandon();
      if (lines !== null) proxy.stop();
    },
  };
}

/** Clients by HTTP, and a child for each. */
async function startHosting({ setting, policy, interceptors }: Start, children: ChildServerEnd): Promise<Middle> {
  const limits = limitsOf(setting);
  const timeouts = DEFAULT_TIMEOUTS;
  const judged = await startJudging({ command: ["child"], policy, interceptors }, { log: SILENT, limits, timeouts });
  const { hub } = judged;
  const nursery = { take: async () => children.start(), close: () => {} };
  const paths = pathsBelow("");
  const service = await createChildService({
    paths,
    server: { command: ["child"], env: {}, cwd: undefined },
    hub,
    limits,
    timeouts,
    log: SILENT,
    nursery,
  });
  const place = {
    host: "127.0.0.1",
    port: 0,
    tls: null,
    hosts: [],
    origins: [],
    gate: null,
    identityHeader: null,
    issuers: [],
    isInsecure: false,
  };
  const door = await openGateway(place, { hub, limits, log: SILENT, paths }, { ...service, without: new Set() });
  return {
    port: door.port,
    reload: (next) => adopt(judged, next, () => service.announce()),
    close() {
      door.close();
      service.destroy();
      judged.engine.destroy();
    },
  };
}

/** A client on lines, and a child. */
async function joinLines({ setting, policy, lines, interceptors }: Start, children: ChildServerEnd): Promise<Middle> {
  if (lines === null) throw new Error("there is no client on lines");
  const limits = limitsOf(setting);
  const judged = await startJudging(
    { command: ["child"], policy, interceptors },
    { log: SILENT, limits, timeouts: DEFAULT_TIMEOUTS },
  );
  let conversation: Conversation;
  const { session, passage } = createSeat(
    judged.hub.seats,
    (direction, payload) => (direction === "up" ? conversation.toServer : conversation.toClient).writeLine(payload),
    { onExhausted: () => conversation.stop() },
  );
  conversation = createConversation({
    client: lines,
    child: children.start(),
    witness: judged.hub.witness,
    maxMessageBytes: limits.maxMessageBytes,
    graceMs: DEFAULT_TIMEOUTS.childGrace,
    slowReaderMs: DEFAULT_TIMEOUTS.slowReader,
  });
  void conversation.run(passage);
  return {
    port: 0,
    reload: (next) =>
      adopt(judged, next, () => announce(session, (message) => conversation.toClient.writeLine(message))),
    close() {
      passage.giveUp("up", CLOSED);
      judged.engine.destroy();
    },
  };
}
