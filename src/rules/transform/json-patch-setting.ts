import type { Json } from "../../message/json.ts";

/** One operation of a JSON Patch (RFC 6902), with parsed pointers. */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: PatchPath; readonly value: Json }
  | { readonly op: "remove"; readonly path: PatchPath }
  | { readonly op: "move" | "copy"; readonly from: PatchPath; readonly path: PatchPath };

/** A parsed JSON Pointer. A number is an index in an array and a key in an object. */
export type PatchPath = readonly (string | number)[];

/** Parses the operations of a patch, or says what is wrong with one of them. */
export function readPatch(operations: readonly Json[]): readonly PatchOperation[] | { readonly problem: string } {
  const read: PatchOperation[] = [];
  for (const [index, operation] of operations.entries()) {
    const one = readOperation(operation);
    if (typeof one === "string") return { problem: `operation ${index + 1}: ${one}` };
    read.push(one);
  }
  return read;
}

/** The steps of a JSON Pointer (RFC 6901), or null if it is not valid. */
export function readPointer(text: string): PatchPath | null {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return null;
  return text
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((token) => (INDEX.test(token) ? Number(token) : token));
}

// An index has no leading zeros, and at most nine digits.
const INDEX = /^(?:0|[1-9]\d{0,8})$/;

function readOperation(operation: Json): PatchOperation | string {
  if (operation === null || typeof operation !== "object" || Array.isArray(operation)) return "it is not an object";
  const { path, from, value, ...rest } = operation as { readonly [key: string]: Json | undefined };
  const op = typeof rest["op"] === "string" ? rest["op"] : "";
  const target = readPath(path);
  if (target === null) return "its path is not a JSON Pointer";
  switch (op) {
    case "add":
    case "replace":
    case "test":
      return value === undefined ? `${op} needs a value` : { op, path: target, value };
    case "remove":
      return target.length === 0 ? "the whole of it cannot be removed" : { op, path: target };
    case "move":
    case "copy": {
      const source = readPath(from);
      if (source === null) return `${op} needs a JSON Pointer in from`;
      const isInside = source.length < target.length && source.every((step, index) => step === target[index]);
      return op === "move" && isInside ? "nothing can be moved into itself" : { op, from: source, path: target };
    }
    default:
      return "its op is not add, remove, replace, move, copy or test";
  }
}

function readPath(value: Json | undefined): PatchPath | null {
  const path = typeof value === "string" ? readPointer(value) : null;
  return path === null || path.includes("__proto__") ? null : path;
}
