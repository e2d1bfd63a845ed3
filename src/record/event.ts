import type { Envelope } from "../message/envelope.ts";
import type { Direction } from "../message/message.ts";
import type { Class } from "../message/methods.ts";
import type { Json } from "../message/json.ts";
import type { Verdict } from "../policy/verdict.ts";
import type { ClientInfo } from "../session/owner.ts";

/** One judged message, or a refused login, as the audit log records it. It does not contain arguments or results. */
export interface AuditEvent extends Circumstances {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** The session; null for a login that does not belong to one. */
  readonly session: string | null;
  readonly direction: Direction;
  readonly kind: Envelope["kind"] | "login";
  /** The method of the message, or for a response the method of its request. */
  readonly method: string | null;
  /** The tool, prompt, resource or task that the message is about. A long name is cut off. */
  readonly tool: string | null;
  /** For a request whose `tool` was cut off: the full length of the name. */
  readonly cut: number | null;
  /** The JSON-RPC id as it was written, decoded as latin1. */
  readonly id: string | null;
  /** The size of the message as it came; 0 for a login. */
  readonly bytes: number;
  readonly class: Class;
  readonly verdict: Verdict["do"];
  readonly rule: string | null;
  /** What is unusual about a message that passed. */
  readonly note: string | null;
  /** For a response: milliseconds since its request. */
  readonly latency: number | null;
  /** The size of what was forwarded, if that is not the message as it came. */
  readonly sent: number | null;
}

/** What an event says about the client, the server and the policy. Members are null if not known or not applicable. */
export interface Circumstances {
  /** Who the client is: the name of its token, the name in a trusted header, or its address. */
  readonly identity: string | null;
  /** The name and version that the client gives itself. */
  readonly client: ClientInfo | null;
  /** The server: its URL or its command line, without secrets. */
  readonly server: string | null;
  /** The session id of the transport, if there is one. */
  readonly mcpSession: string | null;
  /** The version of the policy that judged the message: a short hash. */
  readonly policy: string | null;
  /** The error message that was sent, if the message was refused. */
  readonly reason: string | null;
  /** The `metadata` of the rule that decided. */
  readonly metadata: RuleMetadata | null;
  /** For a login: the HTTP status. */
  readonly status: number | null;
  /** For a login: the address it came from. */
  readonly address: string | null;
  /** For a login: how many logins this event stands for, if more than one. */
  readonly times: number | null;
}

/** The `metadata` of a rule. */
export type RuleMetadata = { readonly [key: string]: Json };

/** Which policy judged a message. */
export interface PolicyStamp {
  /** A short hash of its content: equal policies have equal hashes. */
  readonly version: string;
  /** The metadata of a rule, by its name in the audit log; null if it has none. */
  metadata(rule: string): RuleMetadata | null;
}

/** Thrown if an event cannot be written and a message that is not in the audit log must not be forwarded. */
export class Unaudited extends Error {
  constructor() {
    super("a message did not pass: the audit log cannot be written");
    this.name = "Unaudited";
  }
}

/** The name of the rule for messages that are refused because they could not be audited. */
export const UNAUDITED_RULE = "audit";
