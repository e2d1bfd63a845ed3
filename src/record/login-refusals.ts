import type { ClientInfo } from "../session/owner.ts";
import type { AuditEvent } from "./event.ts";

/** A request that was refused for lack of authorization, by the proxy or by the server. */
export interface LoginRefusal {
  /** Who refused it. `server` is the server's own refusal, which the client has received. */
  readonly by: "us" | "server";
  readonly status: number;
  /** The proxy's rule that refused it; for the server's own refusal the name under which it is recorded. */
  readonly rule: string;
  readonly reason: string;
  /** The address of the client; null for a request of the proxy itself. */
  readonly address: string | null;
  /** Its session, if it belongs to one. */
  readonly session?: {
    readonly id: string;
    readonly identity: string | null;
    readonly mcpSession: string | null;
    clientInfo(): ClientInfo | null;
  };
}

/** Turns refusals into audit events. */
export interface LoginRefusals {
  refused(refusal: LoginRefusal): void;
  /** Writes the refusals that were only counted so far. */
  end(): void;
}

/** Options of the recorder. */
export interface LoginRefusalOptions {
  readonly audit: (event: AuditEvent) => void;
  readonly server: string | null;
  /** The version of the current policy. */
  readonly policy: () => string | null;
  readonly time: () => number;
}

/**
 * A client can be refused as often as it likes and must not fill the disk: only this many refusals per window get an
 * event each. Further ones are counted by rule and status, and share one event.
 */
const MAX_EVENTS = 100;
const WINDOW_MS = 10_000;

/** Makes a recorder of refused logins. */
export function createLoginRefusals({ audit, server, policy, time }: LoginRefusalOptions): LoginRefusals {
  let since = -Infinity;
  let written = 0;
  let timer: NodeJS.Timeout | null = null;
  const counted = new Map<string, { readonly refusal: LoginRefusal; times: number }>();

  function write(refusal: LoginRefusal, times: number | null): void {
    const { by, status, rule, reason, address, session } = refusal;
    audit({
      time: time(),
      session: session?.id ?? null,
      direction: by === "us" ? "up" : "down",
      kind: "login",
      method: null,
      tool: null,
      cut: null,
      id: null,
      bytes: 0,
      class: "review",
      verdict: by === "us" ? "deny" : "pass",
      rule: by === "us" ? rule : null,
      note: by === "us" ? null : rule,
      latency: null,
      sent: null,
      identity: session?.identity ?? null,
      client: session?.clientInfo() ?? null,
      server,
      mcpSession: session?.mcpSession ?? null,
      policy: policy(),
      reason,
      metadata: null,
      status,
      address,
      times,
    });
  }

  function end(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    // An event for several refusals contains only what they have in common.
    for (const { refusal, times } of counted.values()) {
      const { by, status, rule, reason } = refusal;
      write({ by, status, rule, reason, address: null }, times);
    }
    counted.clear();
  }

  return {
    refused(refusal) {
      if (time() - since >= WINDOW_MS || time() < since) {
        end();
        since = time();
        written = 0;
      }
      if (written < MAX_EVENTS) {
        written++;
        return write(refusal, null);
      }
      // The number of keys is small: the proxy chooses rules and statuses.
      const key = `${refusal.by} ${refusal.status} ${refusal.rule}`;
      const known = counted.get(key);
      if (known === undefined) counted.set(key, { refusal, times: 1 });
      else known.times++;
      timer ??= setTimeout(end, WINDOW_MS).unref();
    },
    end,
  };
}
