import type { Span } from "../../message/envelope.ts";
import type { Json } from "../../message/json.ts";
import { type Change, NO_CHANGE, problem } from "../../action/change.ts";
import { encodeJson } from "../../action/encode.ts";
import { follow } from "../../action/follow.ts";
import { reasonOf } from "../reason.ts";

/** A transform that a user wrote. It gets a copy of the value, and returns a new value, or undefined to change nothing. */
export type TransformFunction = (value: unknown, options: unknown, about: TransformSubject) => unknown;

/** What a transform knows about the message that contains the value. */
export interface TransformSubject {
  readonly direction: "up" | "down";
  /** The method of the message, or for a response the method of its request; null if it is not known. */
  readonly method: string | null;
}

/** The location and the options of a transform. */
export interface ModuleSetting {
  /** A path relative to the folder of the policy file. */
  readonly module: string;
  readonly export: string;
  readonly options: Json;
}

/** A loaded transform. */
export interface ModuleTransform {
  /** Never rejects: if the function throws, times out or returns a value that is not JSON, the result is a problem. */
  run(bytes: Buffer, span: Span, about: TransformSubject): Promise<Change>;
}

/** Loads a transform. Rejects, with a message for people, if there is none. */
export async function loadTransform(
  setting: ModuleSetting,
  folder: string,
  timeoutMs: number,
): Promise<ModuleTransform> {
  const { importModule } = await import("../import-module.ts");
  const loaded = await importModule(setting.module, folder);
  const transform = Object.hasOwn(loaded, setting.export) ? loaded[setting.export] : undefined;
  if (typeof transform !== "function") throw new Error(`${setting.module} exports no function ${setting.export}`);
  return createModuleTransform(transform as TransformFunction, setting.options, timeoutMs);
}

/** Creates a transform from a function. The timeout cannot interrupt code that blocks the event loop. */
export function createModuleTransform(transform: TransformFunction, options: Json, timeoutMs: number): ModuleTransform {
  return {
    async run(bytes, span, about) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<typeof LATE>((done) => {
        timer = setTimeout(done, timeoutMs, LATE);
      });
      try {
        const copy: unknown = JSON.parse(bytes.toString("utf8", span.start, span.end));
        // A copy of the options, so that what the function does to them does not affect the next message.
        const returned = await Promise.race([transform(copy, structuredClone(options), about), late]);
        if (returned === LATE) return problem(`the transform took longer than ${timeoutMs} ms`);
        if (returned === undefined) return NO_CHANGE;
        const text = encodeJson(returned);
        if (text === null) return problem("the transform returned what is not JSON");
        const wanted = Buffer.from(text);
        return { edits: follow({ bytes, span }, { bytes: wanted, span: { start: 0, end: wanted.length } }) };
      } catch (error) {
        return problem(`the transform failed: ${reasonOf(error)}`);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

const LATE = Symbol("late");
