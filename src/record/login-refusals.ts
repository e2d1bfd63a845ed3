import type { ClientInfo } from "../session/owner.ts";
import type { AuditEvent } from "./event.ts";

/** A request that was refused for want of permission: by us, or by the server. */
export interface LoginRefusal {
  /** Who refused. `server` is the server's own refusal, which the client has seen. */
  readonly by: "us" | "server";
  readonly status: number;
  /** The rule of ours that refused; for the server's own the name under which it is noted. */
  readonly rule: string;
  readonly reason: string;
  /** Where the request came from; null where it was our own. */
  readonly address: string | null;
  /** Whose session it was, where it belongs to one. */
  readonly session?: {
    readonly id: string;
    readonly identity: string | null;
    readonly mcpSession: string | null;
    clientInfo(): ClientInfo | null;
  };
}

/** Turns refusals into events. */
export interface LoginRefusals {
  refused(refusal: LoginRefusal): void;
  /** Writes what was only counted so far. */
  end(): void;
}

/** How refusals are noted. */
export interface LoginRefusalOptions {
  readonly audit: (event: AuditEvent) => void;
  readonly server: string | null;
  /** The version of the policy that holds. */
  readonly policy: () => string | null;
  readonly time: () => number;
}

/**
 * Whoever can reach us can be refused as often as they like, and must not fill the disk: so many refusals in so long have
 * an event each. Those beyond are counted, by rule and status, and have one event together.
 */
const MAX_EVENTS = 100;
const WINDOW_MS = 10_000;

/** Makes it. */
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
    // Of several that share an event only what they have in common is written.
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
      // Rules and statuses are ours to choose, and few.
      const key = `${refusal.by} ${refusal.status} ${refusal.rule}`;
      const known = counted.get(key);
      if (known === undefined) counted.set(key, { refusal, times: 1 });
      else known.times++;
      timer ??= setTimeout(end, WINDOW_MS).unref();
    },
    end,
  };
}
