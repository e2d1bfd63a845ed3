import { OPEN_OBJECT } from "../../message/characters.ts";
import type { Edit } from "../../message/edit.ts";
import type { Envelope, Span } from "../../message/envelope.ts";
import type { Message } from "../../message/message.ts";
import { readPatch } from "../../policy/json-patch.ts";
import type { Field, TransformSetting } from "../../policy/rules/rule.ts";
import { beginWork, spend, type Work } from "../../policy/rules/work.ts";
import { type Change, findAt, NO_CHANGE, problem } from "../change.ts";
import { applyPatch } from "./json-patch.ts";
import { loadTransform, type TransformSubject } from "./module.ts";
import { createRedaction } from "./redact.ts";
import { stripControl } from "./strip-control.ts";
import { editTexts, type TextChange } from "./texts.ts";
import { createTruncation } from "./truncate.ts";

/**
 * Changes the body of a message: its params, its result or its error. What cannot be done is said and must not pass. Throws
 * where the message has no more work left.
 */
export type Transform = (message: Message, about: TransformSubject, work?: Work) => Change | Promise<Change>;

/** How modules are found and how long they may take. */
export interface TransformOptions {
  /** The folder of the policy file. */
  readonly folder: string;
  readonly timeoutMs: number;
}

/** Makes a transform once, for every message. Rejects where a module or a patch cannot be used. */
export async function createTransform(setting: TransformSetting, options: TransformOptions): Promise<Transform> {
  switch (setting.kind) {
    case "redact":
      return onTexts(createRedaction(setting), null, true);
    case "truncate":
      return onTexts(createTruncation(setting.maxCharacters), setting.field, false);
    case "strip_control":
      return onTexts(stripControl, setting.field, true);
    case "json_patch": {
      const operations = readPatch(setting.operations);
      if ("problem" in operations) throw new Error(operations.problem);
      return ({ bytes, envelope }, _, work = beginWork()) => {
        const body = bodyOf(envelope);
        return body === null
          ? problem("it has no body")
          : keepObject(envelope, applyPatch(bytes, body, operations, work), body);
      };
    }
    case "module": {
      const module = await loadTransform(setting, options.folder, options.timeoutMs);
      return async ({ bytes, envelope }, about, work = beginWork()) => {
        const body = bodyOf(envelope);
        if (body === null) return NO_CHANGE;
        spend(work, STEPS_PER_COPIED_BYTE * (body.end - body.start));
        return keepObject(envelope, await module.run(bytes, body, about), body);
      };
    }
  }
}

/** A module gets a copy of the body, and what it returns is written and compared with the body. */
const STEPS_PER_COPIED_BYTE = 4;

/** What a message is about: params, result or error. Null where it has none, or cannot be read. */
function bodyOf(envelope: Envelope): Span | null {
  switch (envelope.kind) {
    case "request":
    case "notification":
      return envelope.params;
    case "result":
      return envelope.result;
    case "error":
      return envelope.error;
    case "batch":
    case "opaque":
      return null;
  }
}

function onTexts(change: TextChange, field: Field | null, keys: boolean): Transform {
  return ({ bytes, envelope }, _, work = beginWork()) => {
    const body = bodyOf(envelope);
    const span = body === null || field === null ? body : findAt(bytes, body, field.steps);
    return span === null
      ? NO_CHANGE
      : { edits: editTexts(bytes, span, { keys, isBody: field === null }, change, work) };
  };
}

/** Params and errors are objects; whoever made something else of them made no message. */
function keepObject({ kind }: Envelope, change: Change, body: Span): Change {
  if (kind === "result" || "problem" in change) return change;
  const anew: Edit | undefined = change.edits.find(({ span }) => span.start === body.start && span.end === body.end);
  return anew === undefined || anew.by[0] === OPEN_OBJECT ? change : problem("params have to be an object");
}
