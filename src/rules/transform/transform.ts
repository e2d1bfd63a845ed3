import { OPEN_OBJECT } from "../../message/characters.ts";
import type { Edit } from "../../message/edit.ts";
import type { Envelope, Span } from "../../message/envelope.ts";
import type { Message } from "../../message/message.ts";
import { readPatch } from "./json-patch-setting.ts";
import type { TransformSetting } from "../rule.ts";
import type { Field } from "../../message/field.ts";
import { beginWork, spend, type Work } from "../work.ts";
import { type Change, findAt, NO_CHANGE, problem } from "../../action/change.ts";
import { applyPatch } from "./json-patch.ts";
import { loadTransform, type TransformSubject } from "./module.ts";
import { createRedaction } from "./redact.ts";
import { stripControl } from "./strip-control.ts";
import { editTexts, type TextChange } from "./texts.ts";
import { createTruncation } from "./truncate.ts";

/**
 * Changes the body of a message: its params, its result or its error. If that is not possible, it returns a problem,
 * and the message must not pass. Throws if the message has no steps left.
 */
export type Transform = (message: Message, about: TransformSubject, work?: Work) => Change | Promise<Change>;

/** The folder and the timeout for modules. */
export interface TransformOptions {
  /** The folder of the policy file. */
  readonly folder: string;
  readonly timeoutMs: number;
}

/** Creates a transform once for all messages. Rejects if a module or a patch cannot be used. */
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

/** A module gets a copy of the body, and its return value is encoded and compared with the body. */
const STEPS_PER_COPIED_BYTE = 4;

/** The body of a message: params, result or error. Null if it has none or cannot be read. */
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

/** Params and errors must be objects. Any other value would make the message invalid. */
function keepObject({ kind }: Envelope, change: Change, body: Span): Change {
  if (kind === "result" || "problem" in change) return change;
  const anew: Edit | undefined = change.edits.find(({ span }) => span.start === body.start && span.end === body.end);
  return anew === undefined || anew.by[0] === OPEN_OBJECT ? change : problem("params have to be an object");
}
