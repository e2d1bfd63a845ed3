import { canonicalBytes } from "../../message/canonical.ts";
import { OPEN_ARRAY, OPEN_OBJECT } from "../../message/characters.ts";
import { splice } from "../../message/edit.ts";
import type { Span } from "../../message/envelope.ts";
import { whole } from "../../message/message.ts";
import type { PatchOperation, PatchPath } from "./json-patch-setting.ts";
import { beginWork, spend, type Work, walkSteps } from "../work.ts";
import { type Change, findAt, insertElement, NO_CHANGE, problem, removeAt, setAt } from "../../action/change.ts";
import { encodeJson } from "../../action/encode.ts";

/**
 * Applies all operations of a JSON Patch to a value, or none. Each operation is a splice, so that other parts keep
 * their bytes, and moved or copied values keep their spelling.
 */
export function applyPatch(
  bytes: Buffer,
  span: Span,
  operations: readonly PatchOperation[],
  work: Work = beginWork(),
): Change {
  let value = bytes.subarray(span.start, span.end);
  for (const [index, operation] of operations.entries()) {
    for (const step of stepsOf(value, operation, work)) {
      spend(work, 2 * walkSteps(value.length));
      const change = step(value);
      if ("problem" in change) return problem(`operation ${index + 1}, ${operation.op}: ${change.problem}`);
      if (change.edits.length > 0) value = splice(whole(value), change.edits);
    }
  }
  const isSame = value.length === span.end - span.start && value.equals(bytes.subarray(span.start, span.end));
  return isSame ? NO_CHANGE : { edits: [{ span, by: value }] };
}

type Step = (value: Buffer) => Change;

function stepsOf(value: Buffer, operation: PatchOperation, work: Work): Step[] {
  switch (operation.op) {
    case "add":
      return [(now) => add(now, operation.path, encodeJson(operation.value))];
    case "replace":
      return [(now) => requireAt(now, operation.path), (now) => put(now, operation.path, encodeJson(operation.value))];
    case "remove":
      return [(now) => requireAt(now, operation.path), (now) => removeAt(now, all(now), operation.path)];
    case "test":
      return [(now) => test(now, operation.path, encodeJson(operation.value), work)];
    case "copy":
    case "move": {
      const { op, from, path } = operation;
      const source = findAt(value, all(value), from);
      const text = source === null ? null : value.toString("utf8", source.start, source.end);
      const steps: Step[] = [(now) => requireAt(now, from), (now) => add(now, path, text)];
      if (op === "copy") return steps;
      // Moved to its own place: removing and adding it would change the order of members.
      if (from.length === path.length && from.every((step, index) => step === path[index])) return steps.slice(0, 1);
      return [steps[0], (now) => removeAt(now, all(now), from), steps[1]];
    }
  }
}

function add(value: Buffer, path: PatchPath, text: string | null): Change {
  if (text === null) return problem("the value is not JSON");
  const parent = path.length === 0 ? null : findAt(value, all(value), path.slice(0, -1));
  if (parent === null) return path.length === 0 ? put(value, path, text) : problem("there is nothing to add it to");
  const last = path[path.length - 1];
  if (value[parent.start] === OPEN_ARRAY && typeof last === "number") return insertElement(value, parent, last, text);
  if (value[parent.start] !== OPEN_OBJECT && last !== "-") return problem("there is nothing to add it to");
  return put(value, path, text);
}

function put(value: Buffer, path: PatchPath, text: string | null): Change {
  return text === null ? problem("the value is not JSON") : setAt(value, all(value), path, text);
}

function requireAt(value: Buffer, path: PatchPath): Change {
  return findAt(value, all(value), path) === null ? problem("there is no such value") : NO_CHANGE;
}

function test(value: Buffer, path: PatchPath, text: string | null, work: Work): Change {
  const found = findAt(value, all(value), path);
  if (found === null || text === null) return problem("there is no such value");
  const wanted = Buffer.from(text);
  spend(work, found.end - found.start);
  const written = canonicalBytes(value, found, { onWork: (steps) => spend(work, steps) });
  const isEqual = written.equals(canonicalBytes(wanted, all(wanted)));
  return isEqual ? NO_CHANGE : problem("the value is another one");
}

function all(value: Buffer): Span {
  return { start: 0, end: value.length };
}
