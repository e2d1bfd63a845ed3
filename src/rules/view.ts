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
  /** Its method, or that of the request it answers. Null where nobody can tell. */
  readonly method: string | null;
  /** Its params, or those of the request it answers. Null where there are none, undefined where they were not kept. */
  readonly params: Part | null | undefined;
  readonly result: Part | null;
  readonly error: Part | null;
  /** The tool it is about. Null where it is about none, undefined where nobody can tell any more. */
  readonly tool: string | null | undefined;
  /** The name of the client, as it reports it. */
  readonly client: string | null;
  /** Who the client is: an authenticated subject, or what stands for one. */
  readonly identity: string | null;
  /** The server that the session is with. */
  readonly server: ServerId;
  readonly session: SessionFacts;
  /** All ids that the session goes by, that under which rules count and remember first. */
  sessionIds(): readonly string[];
  /** The id by which client and server know the session, or null. */
  readonly mcpSession: string | null;
}

/** One judgement of one message: what has been looked up, spent and found wanting. Rules share it. */
export interface Look {
  readonly view: RuleView;
  /** What rules keep here so that others need not find it again: by names of their own. */
  kept: Map<string, unknown> | null;
  /** What has been looked up in each section, by its number: a look is cheaper to index than to ask by name. */
  readonly memos: (FieldMemo | null)[];
  /** What has been spent on the message, here and elsewhere. */
  readonly work: Work;
  /** Why the first condition that could not be judged could not be. */
  doubt: Doubt | null;
}

/** Why something could not be judged. */
export interface Doubt {
  /** For the log. */
  readonly text: string;
  /** For the client; null where the reason says something about the policy. */
  readonly told: string | null;
}

/** The parts of a message that fields lead into. */
export type Section = "params" | "result" | "error";

/**
 * Begins to look at a message. Nothing is read before somebody asks. `work` is that of the whole message, where this is
 * only a part of one.
 */
export function beginLook(view: RuleView, work: Work = beginWork()): Look {
  return { view, kept: null, memos: [null, null, null], work, doubt: null };
}

/** The number of each section. */
export const SECTION = { params: 0, result: 1, error: 2 } as const satisfies Record<Section, number>;

const NAMES: readonly Section[] = ["params", "result", "error"];

/** What has been looked up in a section; null where the message has none. */
export function memoOf(look: Look, section: number): FieldMemo | null {
  const known = look.memos[section];
  if (known !== null) return known;
  const part = partOf(look.view, NAMES[section]);
  return part === null ? null : (look.memos[section] = createFieldMemo(part, look.work));
}

/** A section of a message. Throws where it is known to have been there and is not at hand. */
export function partOf(view: RuleView, section: Section): Part | null {
  const part = view[section];
  if (part === undefined) throw new Unjudgeable("the request that it answers was too large to be kept");
  return part;
}

/** The tool a message is about. Throws where there is one and nobody knows which. */
export function toolOf({ tool }: RuleView): string | null {
  if (tool === undefined) throw new Unjudgeable("the tool it is about is not known");
  return tool;
}

/** What is kept in a look under a name, made where it is not there yet. */
export function keep<Value extends {}>(look: Look, name: string, make: () => Value): Value {
  const kept = (look.kept ??= new Map());
  const known = kept.get(name);
  if (known !== undefined) return known as Value;
  const made = make();
  kept.set(name, made);
  return made;
}
