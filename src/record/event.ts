import type { Envelope } from "../message/envelope.ts";
import type { Direction } from "../message/message.ts";
import type { Class } from "../message/methods.ts";
import type { Verdict } from "../policy/verdict.ts";

/** One judged message, as the audit log has it. Arguments and results are not in it. */
export interface AuditEvent {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly session: string;
  readonly direction: Direction;
  readonly kind: Envelope["kind"];
  /** For an answer, the method of its request. */
  readonly method: string | null;
  /** The tool, prompt, resource or task it is about: of a long one the start. */
  readonly tool: string | null;
  /** For a request: how long `tool` was, where only its start is kept. */
  readonly cut: number | null;
  /** The id as spelled, as latin1. */
  readonly id: string | null;
  readonly bytes: number;
  readonly class: Class;
  readonly verdict: Verdict["do"];
  readonly rule: string | null;
  /** What is worth noting, though it changed nothing. */
  readonly note: string | null;
  /** For an answer, milliseconds since its request. */
  readonly latency: number | null;
  /** How many bytes went on, where they are not the ones that came. */
  readonly sent: number | null;
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
