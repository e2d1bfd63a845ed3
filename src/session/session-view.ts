import type { Era } from "../message/protocol.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ClientInfo } from "./owner.ts";

/** What policy may see of a session. */
export interface SessionView {
  readonly id: string;
  /** The key under which rules count and remember: the session's own, or the client's where that is known or needed. */
  readonly scope: string;
  /** Who the client is. Null where that cannot be told, as on stdin. */
  readonly identity: string | null;
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
