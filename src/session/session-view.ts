import type { Era } from "../message/protocol.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ClientInfo } from "./owner.ts";

/** Names a server: its URL, or its command line without secrets. There is one server for now; do not rely on that. */
export type ServerId = string;

/** The transport between the client and the proxy. */
export type ClientTransport = "stdio" | "streamable-http" | "sse";

/** What policy may see of a session. */
export interface SessionView {
  readonly id: string;
  /** The key under which rules keep their state: the session's own, or the client's where that is known or needed. */
  readonly scope: string;
  /** Who the client is. Null if that is not known, as on stdin. */
  readonly identity: string | null;
  /** The server of the session. */
  readonly server: ServerId;
  readonly transport: ClientTransport;
  /** The group of sessions that may share a cached private response. */
  audience(): string;
  /** The name of the client, as it states it, once that is known. */
  client(): string | null;
  /** Name and version of the client, once they are known. */
  clientInfo(): ClientInfo | null;
  /** The session id of the transport, Streamable HTTP or HTTP+SSE. Null if there is none. */
  readonly mcpSession: string | null;
  /** The revision that the handshake of the stateful era agreed on, once it has. */
  revision(): string | null;
  catalogue(era: Era): Catalogue;
}

/** The id of a server that was not named, which happens only where the id is not shown. */
export const UNNAMED_SERVER: ServerId = "server";
