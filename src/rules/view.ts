import type { SessionFacts } from "../store/session-facts.ts";
import type { Direction } from "../message/message.ts";
import type { ServerId } from "../session/session-view.ts";
import { createFieldMemo, type FieldMemo, type Part } from "./fields.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import { beginWork, type Work } from "./work.ts";

/** What rules see of a message, or of a message inside another one. */
export interface RuleView {
  readonly kind: "request" | "notification" | "result" | "error";
  readonly direction: Direction;
  /** The method of the message; for a response, the method of its request. Null if unknown. */
  readonly method: string | null;
  /**
   * The params of the message; for a response, those of its request. Null if there are none, undefined if they were not
   * kept.
   */
  readonly params: Part | null | undefined;
  readonly result: Part | null;
  readonly error: Part | null;
  /** The tool that the message is about. Null if it is not about a tool, undefined if the tool is not known. */
  readonly tool: string | null | undefined;
  /** The name that the client gives itself. */
  readonly client: string | null;
  /** The client's identity: an authenticated subject, or a substitute for it. */
  readonly identity: string | null;
  /** The server of the session. */
  readonly server: ServerId;
  readonly session: SessionFacts;
  /** All ids of the session. The first is the key under which rules keep their state. */
  sessionIds(): readonly string[];
  /** The `Mcp-Session-Id` that client and server use, or null. */
  readonly mcpSession: string | null;
}

/** The working data for judging one message: looked-up values, the work spent, the first doubt. All rules share it. */
export interface Look {
  readonly view: RuleView;
  /** Values that conditions and templates cache here by name, so that others need not compute them again. */
  kept: Map<string, unknown> | null;
  /** The values looked up in each section, by the section's number, because that is faster than access by name. */
  readonly memos: (FieldMemo | null)[];
  /** The steps spent on the message, here and elsewhere. */
  readonly work: Work;
  /** The reason of the first condition that could not be judged. */
  doubt: Doubt | null;
}

/** Why a condition could not be judged. */
export interface Doubt {
  /** For the log. */
  readonly text: string;
  /** For the client; null if the reason would reveal something about the policy. */
  readonly told: string | null;
}

/** The parts of a message that fields refer to. */
export type Section = "params" | "result" | "error";

/**
 * Starts judging a message. Nothing is read before it is needed. For a message inside another one, `work` is that of
 * the outer message.
 */
export function beginLook(view: RuleView, work: Work = beginWork()): Look {
  return { view, kept: null, memos: [null, null, null], work, doubt: null };
}

/** The number of each section. */
export const SECTION = { params: 0, result: 1, error: 2 } as const satisfies Record<Section, number>;

const NAMES: readonly Section[] = ["params", "result", "error"];

/** The values looked up in a section; null if the message does not have this section. */
export function memoOf(look: Look, section: number): FieldMemo | null {
  const known = look.memos[section];
  if (known !== null) return known;
  const part = partOf(look.view, NAMES[section]);
  return part === null ? null : (look.memos[section] = createFieldMemo(part, look.work));
}

/** A section of a message. Throws if the message has it but it was not kept. */
export function partOf(view: RuleView, section: Section): Part | null {
  const part = view[section];
  if (part === undefined) throw new Unjudgeable("the request that it answers was too large to be kept");
  return part;
}

/** The tool that a message is about. Throws if there is one but it is not known which. */
export function toolOf({ tool }: RuleView): string | null {
  if (tool === undefined) throw new Unjudgeable("the tool it is about is not known");
  return tool;
}

/** The value cached in a look under a name, or the result of `make`, which is then cached. */
export function keep<Value extends {}>(look: Look, name: string, make: () => Value): Value {
  const kept = (look.kept ??= new Map());
  const known = kept.get(name);
  if (known !== undefined) return known as Value;
  const made = make();
  kept.set(name, made);
  return made;
}
