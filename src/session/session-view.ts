import type { Era } from "../message/protocol.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ClientInfo } from "./owner.ts";

/** Which server: its URL, or its command line without secrets. There is one for now; nothing should rely on that. */
export type ServerId = string;

/** By which transport a client speaks to us. */
export type ClientTransport = "stdio" | "streamable-http" | "sse";

/** What policy may see of a session. */
export interface SessionView {
  readonly id: string;
  /** The key under which rules count and remember: the session's own, or the client's where that is known or needed. */
  readonly scope: string;
  /** Who the client is. Null where that cannot be told, as on stdin. */
  readonly identity: string | null;
  /** The server that the session is with. */
  readonly server: ServerId;
  readonly transport: ClientTransport;
  /** Who may be given a private answer again. */
  audience(): string;
  /** What the client calls itself, once it has said so. */
  client(): string | null;
  /** The same with its version. */
  clientInfo(): ClientInfo | null;
  /** The id by which client and server know the session: that of Streamable HTTP, or of HTTP+SSE. Null where there is none. */
  readonly mcpSession: string | null;
  /** The revision that the handshake of the older era settled on, once it has. */
  revision(): string | null;
  catalogue(era: Era): Catalogue;
}

/** The id of the server where nobody has named it: where there is nobody who could see it. */
export const UNNAMED_SERVER: ServerId = "server";
