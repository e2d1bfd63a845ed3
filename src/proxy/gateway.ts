import type { Visit } from "../link/http/door.ts";
import { type Door, openDoor } from "../link/http/door.ts";
import type { Gate } from "../link/http/gate-answer.ts";
import { expectGuests } from "../link/http/guests.ts";
import { replyError, replyJson } from "../link/http/reply.ts";
import type { Paths } from "../bridge/client-side.ts";
import { isLoopback } from "../link/loopback.ts";
import { ProxyError } from "../errors.ts";
import type { Log } from "../record/log/log.ts";
import type { Hub } from "./hub.ts";
import type { Limits } from "./limits.ts";

/** Where clients connect by HTTP, and who may connect. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Additional names that are allowed in the Host header, and origins of web pages that may send requests. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly gate: Gate | null;
  /** The lower-case name of the header that identifies the client; null if there is none. */
  readonly identityHeader: string | null;
  /** The issuers of the tokens that the gate accepts. */
  readonly issuers: readonly string[];
  /** Whether other machines may connect without authentication. */
  readonly isInsecure: boolean;
}

/** Prevents serving the whole network without authentication by accident. */
export function checkBind({ host, port, gate, isInsecure }: ListenOptions): void {
  if (!isLoopback(host) && gate === null && !isInsecure) {
    throw new ProxyError(
      "CANNOT_LISTEN",
      `Refusing to listen without authentication at ${host}:${port}`,
      "Listen on 127.0.0.1, require tokens with --auth-tokens or --auth-jwks, or give --insecure-bind",
    );
  }
}

/** What the gateway needs to know of the proxy. */
export interface GatewayParts {
  readonly hub: Hub;
  readonly limits: Limits;
  readonly log: Log;
  /** The paths of the default server. */
  readonly paths: Paths;
}

/** Opens the door for a proxy. `visit` handles a request, and returns whether it knows its path. */
export async function openGateway(
  options: ListenOptions,
  { hub, limits, log, paths }: GatewayParts,
  server: { readonly isReady: () => boolean; readonly without: ReadonlySet<string>; visit(visit: Visit): boolean },
): Promise<Door> {
  const { host, port, gate, identityHeader } = options;
  if (identityHeader !== null && gate === null && !isLoopback(host))
    log.warn(
      `any client that can reach ${host}:${port} can set the header ${identityHeader}: make sure that only the proxy in front can reach it`,
    );
  const scheme = options.tls === null ? "http" : "https";
  const metadataUrl = (name: string): string => `${scheme}://${name}${METADATA}${paths.mcp}`;
  const door: Door = await openDoor({
    host,
    port,
    tls: options.tls,
    guests: expectGuests(host, options.hosts, options.origins),
    gate,
    identityHeader,
    isOpen: (path) => path.startsWith(METADATA),
    metadataUrl,
    isReady: server.isReady,
    without: gate === null ? server.without : new Set([...server.without, "authorization"]),
    maxConnections: limits.maxConnections,
    tap: hub.tap,
    onTrouble(rule, text, refusal) {
      hub.witness.trouble(rule, text);
      if (refusal?.status === 401 || refusal?.status === 403) {
        hub.witness.refusedLogin({ by: "us", rule, ...refusal });
      }
    },
    onVisit(visit) {
      if (gate !== null && visit.path.startsWith(METADATA)) return describe(visit);
      if (!server.visit(visit)) replyError(visit.response, 404, { code: -32000, message: "Not found" }, null);
    },
  });

  /** Serves the metadata that names the token issuers (RFC 9728). */
  function describe({ method, response, head }: Visit): void {
    if (method !== "GET" && method !== "HEAD") return replyError(response, 405, NOT_ALLOWED, "GET, HEAD");
    const body = {
      resource: `${scheme}://${head.host ?? `${host}:${door.port}`}${paths.mcp}`,
      // RFC 9728, 3.2: members without values are left out.
      ...(options.issuers.length > 0 && { authorization_servers: options.issuers }),
      bearer_methods_supported: ["header"],
    };
    replyJson(response, 200, Buffer.from(JSON.stringify(body)), []);
  }

  log.info("listening", { url: door.url + paths.mcp });
  return door;
}

const NOT_ALLOWED = { code: -32000, message: "Method not allowed." };
const METADATA = "/.well-known/oauth-protected-resource";
