import { LOWER_HEADERS } from "../message/protocol.ts";
import { setTimeout as delay } from "node:timers/promises";
import { fetchRefusal, fetchTools, findServer, type FindOptions, type FoundServer } from "../bridge/find-server.ts";
import { announce } from "../bridge/announce.ts";
import { createLinesClient } from "../bridge/lines-client.ts";
import { noteRefusal } from "../bridge/refusal.ts";
import { createSeat, type Knowledge, mirrorsServer } from "../bridge/seats.ts";
import { sendOwn, type ServerEnd, type ServerListener } from "../bridge/server-end.ts";
import { openSseEnd } from "../bridge/sse-end.ts";
import { createStreamableEnd } from "../bridge/streamable-end.ts";
import { ConnectionError } from "../errors.ts";
import { type Address, parseAddress } from "../link/upstream/address.ts";
import { readCa } from "../link/upstream/connect.ts";
import { headerOf } from "../link/upstream/head.ts";
import { createPool, type Pool } from "../link/upstream/pool.ts";
import { type Watch, watchServer } from "../link/upstream/watch.ts";
import type { Log } from "../record/log/log.ts";
import type { Era } from "../message/protocol.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import type { ClientStreams, ConversationEnd } from "./conversation.ts";
import type { Hub } from "./hub.ts";
import type { Limits, Timeouts } from "./limits.ts";
import { createPermission, type Permission } from "./permission.ts";

/** A server at a URL that was found, and what is needed to use it. */
export interface RemoteServer {
  readonly pool: Pool;
  readonly found: FoundServer;
  /** The known tools; null if each session has to learn them itself. */
  readonly knowledge: Knowledge | null;
  /** The configured header lines for every request. */
  readonly headers: () => string;
  readonly permission: Permission;
  readonly watch: Watch;
  /** Opens a session. If the client has a session, the server's session id is stored in it. */
  open(listener: ServerListener, onEnd: () => void, session?: Session): Promise<ServerEnd>;
  close(): void;
}

/** Options of a server at a URL. */
export interface RemoteOptions {
  readonly upstream: string;
  /** Header lines, each with its CRLF. */
  readonly headers: string;
  /** The path of a PEM file with additional certificates to trust. */
  readonly ca: string | null;
  /** The directory for tokens; null if the proxy does not log in. */
  readonly loginDirectory: string | null;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly version: string;
  readonly log: Log;
  readonly hub: Hub;
  /** Called when the server is lost, and when it is back. */
  readonly onChange: (isThere: boolean) => void;
}

/** Finds a server at a URL. Rejects with a ProxyError if there is none. */
export async function findRemote(options: RemoteOptions): Promise<RemoteServer> {
  const { log, limits, timeouts, hub, version } = options;
  const address = parseAddress(options.upstream);
  const ca = options.ca === null ? null : readCa(options.ca);
  let watch: Watch | null = null;
  const connecting = {
    timeoutMs: timeouts.connection,
    ca,
    env: process.env,
    maxConnections: limits.maxUpstreamConnections,
    tap: hub.tap,
    onShortage: createAlarm((detail) => hub.witness.trouble("http:no-room", `could not send a request: ${detail}`)),
  };
  const pool = createPool(address, connecting, () => watch?.suspect());
  const permission = createPermission(address, options.loginDirectory);
  const own = options.headers + credentialsLine(address, options.headers);
  const headers = (): string => own + permission.line();
  const find: FindOptions = {
    pool,
    address,
    headers,
    permit(head, shown) {
      noteRefusal(hub.witness, null, null, head.status);
      return permission.ask(head, shown);
    },
    connectMs: timeouts.connection,
    listMs: timeouts.toolList,
    maxMessageBytes: limits.maxMessageBytes,
    version,
  };
  let found: FoundServer;
  try {
    await permission.recall();
    found = await findServer(find);
  } catch (error) {
    pool.close();
    const { cause } = error as Error;
    if (cause instanceof ConnectionError) {
      log.debug("the server cannot be used", { code: cause.code, why: cause.message, details: cause.internalDetails });
    }
    throw error;
  }
  log.info("connected", { url: found.address.shown, transport: found.kind === "sse" ? "HTTP+SSE" : "Streamable HTTP" });
  const { cache, refresh } = hub.tools;
  const keep = refresh === "on_change" ? "until-changed" : "for-good";
  if (found.needsLogin)
    log.info("the server wants its clients to log in: tools are listed and cached for each session");
  else
    for (const era of ERAS) {
      if (!found.catalogues[era].isComplete) continue;
      found.catalogues[era].keep(keep);
      hub.seats.onLearnt(found.catalogues[era]);
    }
  watch = watchServer(pool, options.onChange);
  return {
    pool,
    found,
    knowledge: found.needsLogin || cache === "session" ? null : share(find, found, hub, keep),
    headers,
    permission,
    watch,
    async open(listener, onEnd, session) {
      const { maxMessageBytes, maxBufferBytes } = limits;
      const shared = { pool, headers, listener, maxMessageBytes, maxBufferBytes };
      if (found.kind === "sse") return openSseEnd({ ...shared, address: found.address, onEnd });
      return createStreamableEnd({
        ...shared,
        path: found.address.path,
        permit: (head, shown) => permission.ask(head, shown),
        watch: {
          head(head) {
            noteRefusal(hub.witness, null, session ?? null, head.status);
            if (session === undefined || head.status >= 300) return;
            // A server that has lost a session assigns another id to the next one.
            session.mcpSession = headerOf(head, LOWER_HEADERS.session) ?? session.mcpSession;
          },
          failed: () => {},
        },
        renew: () => permission.renew(),
        schemaOf: (tool) => schemaOf(found, tool),
        listens: true,
      });
    },
    close() {
      watch.stop();
      pool.close();
    },
  };
}

const ERAS = ["stateful", "stateless"] as const;

/** Limits how often something is reported: it may go wrong a thousand times a second. */
function createAlarm(tell: (detail: string) => void): (detail: string) => void {
  let toldAt = -Infinity;
  return (detail) => {
    if (Date.now() - toldAt < ALARM_MS) return;
    toldAt = Date.now();
    tell(detail);
  };
}

const ALARM_MS = 60_000;

/** The tools that all sessions share. The list of the other era is fetched when it is first needed. */
function share(find: FindOptions, found: FoundServer, hub: Hub, keep: "for-good" | "until-changed"): Knowledge {
  const { catalogues } = found;
  const running = new Map<Era, Promise<void>>();
  const asking = new Map<Era, Promise<void>>();
  const fetch = (era: Era): Promise<void> => {
    const waiting = running.get(era);
    if (waiting !== undefined) return waiting;
    const fetching = fetchTools(find, found, era)
      .then((catalogue) => {
        catalogue.keep(keep);
        catalogue.learnRefusal(catalogues[era].refusal);
        catalogues[era] = catalogue;
        hub.seats.onLearnt(catalogue);
      })
      .finally(() => running.delete(era));
    running.set(era, fetching);
    return fetching;
  };
  const mirror = (era: Era): Promise<void> => {
    const asked = asking.get(era);
    if (asked !== undefined) return asked;
    const answered = fetchRefusal(find, found, era).then((refusal) => catalogues[era].learnRefusal(refusal));
    asking.set(era, answered);
    return answered.finally(() => asking.delete(era));
  };
  const know = async (turn: Turn): Promise<void> => {
    const era = turn.opens?.era ?? "stateful";
    if (!catalogues[era].isComplete) await fetch(era);
    if (mirrorsServer(hub.rulebook.current.policy) && catalogues[era].refusal === undefined) await mirror(era);
  };
  return { catalogues, learner: { fetch, know } };
}

function schemaOf({ catalogues }: FoundServer, tool: string): Buffer | null {
  for (const era of ["stateless", "stateful"] as const) {
    const known = catalogues[era].tools.find(({ name }) => name === tool);
    if (known !== undefined) return known.raw;
  }
  return null;
}

function credentialsLine({ credentials }: Address, headers: string): string {
  return credentials === null || /^authorization:/im.test(headers) ? "" : `Authorization: ${credentials}\r\n`;
}

/** Connects a client on stdin and stdout to a server at a URL. */
export function joinRemote(
  server: RemoteServer,
  { input, output }: ClientStreams,
  { hub, limits, timeouts }: RemoteOptions,
): { readonly ended: Promise<ConversationEnd>; lose(): void; stop(): void; abandon(): void; announce(): void } {
  const { knowledge } = server;
  let end: ServerEnd | null = null;
  let leave: ((how: "lost" | "stopped") => void) | undefined;
  const left = new Promise<"lost" | "stopped">((resolve) => {
    leave = resolve;
  });
  const seat = createSeat(
    hub.seats,
    (direction, payload) => {
      if (direction === "up") sendOwn(end, seat.session, payload);
      else client.say(payload);
    },
    { known: knowledge, onExhausted: () => leave?.("stopped") },
  );
  const client = createLinesClient({
    input,
    output,
    seat,
    witness: hub.witness,
    maxMessageBytes: limits.maxMessageBytes,
    maxBufferBytes: limits.maxBufferBytes,
    slowReaderMs: timeouts.slowReader,
    tap: hub.tap,
  });

  hub.witness.opened(seat.session);

  async function run(): Promise<ConversationEnd> {
    end = await server.open(client.listener, () => leave?.("lost"), seat.session);
    const how = await Promise.race([client.run(end).then(() => "closed" as const), left]);
    if (how === "lost") end.destroy();
    // A client that has closed its input may still read the responses.
    if (how === "closed") await Promise.race([client.answered(timeouts.childGrace), left]);
    // If the proxy was stopped before or is stopped now, it does not wait for a slow client.
    const hurried = how === "closed" ? left : delay(FLUSH_MS, undefined, { ref: false });
    await Promise.race([client.giveUp(), hurried]);
    await end.close();
    server.close();
    return { code: how === "closed" ? 0 : 1, lost: how === "lost", child: null };
  }

  return {
    ended: run(),
    lose: () => leave?.("lost"),
    stop: () => leave?.("stopped"),
    abandon: () => end?.destroy(),
    announce: () => announce(seat.session, (message) => seat.session.say("down", message)),
  };
}

/** How long the last output may take to be written if the proxy was stopped or the server is lost. */
const FLUSH_MS = 2000;
