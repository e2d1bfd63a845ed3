import type { Visit } from "../link/http/door.ts";
import type { Owner } from "../session/owner.ts";
import type { Knowledge, SeatOptions } from "./seats.ts";
import type { ServerEnd, ServerListener } from "./server-end.ts";

/** A client's session that the proxy hosts. It has a server session of its own. */
export interface Hosted {
  readonly id: string;
  readonly principal: string | null;
  /** When it was last used; null while a stream or a call is open. */
  readonly idleSince: number | null;
  /** Whether a client waits for a response that will arrive on another stream than its request. */
  readonly owes: boolean;
  /** Notifies the client that the tools have changed. */
  announce(): void;
  /** Takes a message from the client. `headers` are sent with the response. */
  post(visit: Visit, body: Buffer, headers: readonly string[]): void;
  /** Opens the stream for messages that the server sends without being asked. `greeting` is sent first. */
  listen(visit: Visit, greeting: Buffer | null): void;
  /**
   * Ends the session and the server session behind it. Open calls are answered with an error, with this HTTP status if
   * the head has not been sent yet.
   */
  close(status?: number): Promise<void>;
  destroy(): void;
}

/** Options of a hosted session. */
export interface HostedOptions {
  readonly seats: SeatOptions;
  readonly knowledge: Knowledge | null;
  readonly owner: Owner | undefined;
  readonly principal: string | null;
  /** Opens the server session. */
  readonly open: (listener: ServerListener, onEnd: () => void) => Promise<ServerEnd>;
  /** Whether all messages to the client use one stream, as in the HTTP+SSE transport of 2024-11-05. */
  readonly hasOneStream: boolean;
  /** Called when the session has ended. The promise resolves when its resources are released. */
  readonly onClosed: (id: string, left: Promise<void>) => void;
}
