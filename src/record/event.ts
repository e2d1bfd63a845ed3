import type { Envelope } from "../message/envelope.ts";
import type { Direction } from "../message/message.ts";
import type { Class } from "../message/methods.ts";
import type { Rule } from "../policy/rules/rule.ts";
import type { Verdict } from "../policy/verdict.ts";
import type { ClientInfo } from "../session/owner.ts";

/** One judged message, or a login that was refused, as the audit log has it. Arguments and results are not in it. */
export interface AuditEvent extends Circumstances {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Null for a login that belongs to no session. */
  readonly session: string | null;
  readonly direction: Direction;
  readonly kind: Envelope["kind"] | "login";
  /** For an answer, the method of its request. */
  readonly method: string | null;
  /** The tool, prompt, resource or task it is about: of a long one the start. */
  readonly tool: string | null;
  /** For a request: how long `tool` was, where only its start is kept. */
  readonly cut: number | null;
  /** The id as spelled, as latin1. */
  readonly id: string | null;
  /** The size of the message as it came; 0 for a login. */
  readonly bytes: number;
  readonly class: Class;
  readonly verdict: Verdict["do"];
  readonly rule: string | null;
  /** What is worth noting, though it changed nothing. */
  readonly note: string | null;
  /** For an answer, milliseconds since its request. */
  readonly latency: number | null;
  /** The size of what went on, where that is not the message as it came. */
  readonly sent: number | null;
}

/** Who and what an event is about, beside the message itself. Null where it is not known, or does not apply. */
export interface Circumstances {
  /** Who the client is: whom we let in, whom a trusted header names, or its address. */
  readonly identity: string | null;
  /** What the client says of itself. */
  readonly client: ClientInfo | null;
  /** The server: its URL or its command line, without secrets. */
  readonly server: string | null;
  /** The id of the session in the transport, where it has one. */
  readonly mcpSession: string | null;
  /** The version of the policy that judged it: a short hash. */
  readonly policy: string | null;
  /** What whoever waits was told, where the message was refused. */
  readonly reason: string | null;
  /** What the policy notes beside the rule that decided. */
  readonly metadata: RuleMetadata | null;
  /** For a login: the HTTP status, the address it came from, and how often it happened where one event stands for several. */
  readonly status: number | null;
  readonly address: string | null;
  readonly times: number | null;
}

/** The `metadata` of a rule. */
export type RuleMetadata = Rule["metadata"];

/** Which policy judged a message. */
export interface PolicyStamp {
  /** A short hash of what it says: the same policy has the same. */
  readonly version: string;
  /** The metadata of a rule, by its name in the audit log; null where it has none. */
  metadata(rule: string): RuleMetadata | null;
}

/** Thrown by whoever takes events where one cannot be written, and a message that is not in the log must not pass. */
export class Unaudited extends Error {
  constructor() {
    super("a message did not pass: the audit log cannot be written");
    this.name = "Unaudited";
  }
}

/** Who decided then. */
export const UNAUDITED_RULE = "audit";
