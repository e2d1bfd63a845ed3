import { decodeString, readJson, type Tree } from "./naive-json.ts";

/** What the strict profile makes of one line, without its newline. */
export type Reading =
  | { readonly kind: "blank" }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "batch"; readonly members: readonly Buffer[]; readonly tree: Tree }
  | Asking
  | Answering;

/** A request, or without an id a notification. */
export interface Asking {
  readonly kind: "request" | "notification";
  readonly id: IdReading | null;
  readonly method: string;
  readonly params: Tree | null;
  /** The text it is about, where its method has one. */
  readonly subject: string | null;
}

/** A result or an error. Only an error may have no id. */
export interface Answering {
  readonly kind: "result" | "error";
  readonly id: IdReading | null;
  /** The result or the error. */
  readonly body: Tree;
}

/** An id: `key` is what a client that calls Number() on it looks up, `plain` its text. */
interface IdReading {
  readonly key: number | string;
  readonly plain: string;
}

/** Reads a line by the rules in docs/strict.md, in the plainest way there is. */
export function readLine(line: Buffer): Reading {
  const content = line.at(-1) === CR ? line.subarray(0, -1) : line;
  if (/^[ \t\r]*$/.test(content.toString("latin1"))) return { kind: "blank" };
  const { tree, fault } = readJson(line);
  if (tree === null) return refuse(fault ?? "");
  if (content.includes(CR) || content.includes(LF)) return refuse("carriage-return");
  if (tree.kind === "array")
    return { kind: "batch", tree, members: tree.elements.map((one) => line.subarray(one.start, one.end)) };
  return tree.kind === "object" ? readObject(line, tree) : refuse("not-an-object");
}

/** What a peer that ignores case, width and what does not show takes a name for. */
export function foldNaively(name: string): string {
  if (/^[a-z0-9_/]*$/.test(name)) return name;
  const folded = Array.from(name.normalize("NFKC"))
    .filter((character) => !/[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(character))
    .map((character) => (character === "ς" ? "σ" : character))
    .join("")
    .toLowerCase()
    .replaceAll("ς", "σ");
  return folded === name ? folded : foldNaively(folded);
}

/** The value of the member with this key. */
export function member(tree: Tree | null, key: string): Tree | undefined {
  return tree?.members.find((one) => one.key === key)?.value;
}

/** The text of a string, null where it is something else. */
export function stringAt(bytes: Buffer, tree: Tree | undefined): string | null {
  return tree?.kind === "string" ? decodeString(bytes.toString("latin1", tree.start, tree.end)) : null;
}

const CR = 0x0d;
const LF = 0x0a;
const ROOT_KEYS = level(["jsonrpc", "id", "method", "params", "result", "error"]);
const PARAMS_KEYS = level(
  [
    ["name", "uri", "arguments", "cursor", "_meta", "requestId", "progressToken", "taskId"],
    ["inputResponses", "requestState"],
  ].flat(),
);
const MAX_BYTES = 1024; // of a key at these levels, an id, a method
const MAX_NAME = 1024; // characters of what a request is about, links aside

/** Methods by who may send them; those that say what they are about, by where. */
const REQUESTS: Record<string, readonly string[]> = {
  up: [
    ["initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list"],
    ["resources/templates/list", "resources/read", "resources/directory/read", "resources/subscribe"],
    ["resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel"],
    ["subscriptions/listen", "skills/list", "skills/get", "tasks/get", "tasks/result", "tasks/list"],
    ["tasks/cancel", "tasks/update"],
  ].flat(),
  down: [
    ["ping", "sampling/createMessage", "elicitation/create", "roots/list", "tasks/get", "tasks/result"],
    ["tasks/list", "tasks/cancel"],
  ].flat(),
};
const NOTIFICATIONS: Record<string, readonly string[]> = {
  up: [
    ["initialized", "notifications/initialized", "notifications/roots/list_changed"],
    ["notifications/cancelled", "notifications/progress", "notifications/tasks/status"],
  ].flat(),
  down: [
    ["notifications/cancelled", "notifications/progress", "notifications/tasks/status", "notifications/message"],
    ["notifications/resources/updated", "notifications/resources/list_changed"],
    ["notifications/tools/list_changed", "notifications/prompts/list_changed"],
    ["notifications/elicitation/complete", "notifications/subscriptions/acknowledged", "notifications/tasks"],
  ].flat(),
};
const SUBJECTS: Record<string, string> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "resources/directory/read": "uri",
  "resources/subscribe": "uri",
  "resources/unsubscribe": "uri",
  "tasks/get": "taskId",
  "tasks/result": "taskId",
  "tasks/cancel": "taskId",
  "tasks/update": "taskId",
};
const KNOWN = new Set([REQUESTS, NOTIFICATIONS].flatMap((methods) => Object.values(methods).flat()));
const KNOWN_FOLDED = new Set([...KNOWN].map(foldNaively));

/** Whether a method may be sent this way in this form. What nobody knows may. */
export function mayBeSent(method: string, direction: "up" | "down", kind: Asking["kind"]): boolean {
  if (!KNOWN.has(method)) return true;
  const isRequest = REQUESTS["up"].includes(method) || REQUESTS["down"].includes(method);
  if ((kind === "request") !== isRequest) return false;
  return (isRequest ? REQUESTS : NOTIFICATIONS)[direction].includes(method);
}

/** A key of the envelope or of its params that peers may take for another; null where there is none. */
export function findOddKey(tree: Tree): string | null {
  const all = tree.members.filter(({ key }) => key === "params").map(({ value }) => value);
  return (
    oddKey(tree, ROOT_KEYS) ?? all.map((params) => oddKey(params, PARAMS_KEYS)).find((odd) => odd !== null) ?? null
  );
}

function readObject(line: Buffer, tree: Tree): Reading {
  const get = (key: string): Tree | undefined => member(tree, key);
  const params = get("params");
  const odd = findOddKey(tree);
  if (odd !== null) return refuse(odd);
  if (stringAt(line, get("jsonrpc")) !== "2.0") return refuse("bad-version");
  const idTree = get("id");
  const id = idTree === undefined ? null : readIdNaively(line, idTree);
  const [result, error] = [get("result"), get("error")];
  if (get("method") === undefined) {
    const body = result ?? error;
    if (body === undefined || (result !== undefined && error !== undefined) || idTree === undefined)
      return refuse("ambiguous");
    const isNull = line.toString("latin1", idTree.start, idTree.end) === "null";
    if (id === null && !(isNull && error !== undefined)) return refuse("bad-id");
    return { kind: result === undefined ? "error" : "result", id, body };
  }
  if (result !== undefined || error !== undefined) return refuse("ambiguous");
  if (idTree !== undefined && id === null) return refuse("bad-id");
  return readAsking(line, get("method"), params, id);
}

function readAsking(line: Buffer, said: Tree | undefined, params: Tree | undefined, id: IdReading | null): Reading {
  const method = stringAt(line, said);
  if (said === undefined || method === null) return refuse("bad-method");
  if (!method.isWellFormed() || said.end - said.start > MAX_BYTES) return refuse("bad-method");
  if (!KNOWN.has(method) && KNOWN_FOLDED.has(foldNaively(method))) return refuse("variant-method");
  const isNull = params?.kind === "literal" && line[params.start] === "n".charCodeAt(0);
  if (params !== undefined && params.kind !== "object" && !isNull) return refuse("bad-params");
  const about = method in SUBJECTS && params !== undefined ? member(params, SUBJECTS[method]) : undefined;
  const subject = stringAt(line, about);
  if (about !== undefined && (subject === null || !subject.isWellFormed())) return refuse("bad-subject");
  if (subject !== null && SUBJECTS[method] !== "uri" && subject.length > MAX_NAME) return refuse("bad-subject");
  const kind = id === null ? "notification" : "request";
  return { kind, id, method, params: params?.kind === "object" ? params : null, subject };
}

/** The keys that matter somewhere, with their folded forms. */
interface Level {
  readonly exact: ReadonlySet<string>;
  readonly folded: ReadonlySet<string>;
}

function level(keys: readonly string[]): Level {
  return { exact: new Set(keys), folded: new Set(keys.map(foldNaively)) };
}

function oddKey(tree: Tree, { exact, folded }: Level): string | null {
  for (const { key } of tree.members) {
    if (exact.has(key)) continue;
    if (key === "__proto__") return "prototype-key";
    if (Buffer.byteLength(key) > MAX_BYTES || folded.has(foldNaively(key))) return "variant-key";
  }
  return null;
}

/** A string, or an integer written plainly that no double rounds. */
export function readIdNaively(line: Buffer, tree: Tree): IdReading | null {
  const text = line.toString("latin1", tree.start, tree.end);
  if (text.length > MAX_BYTES) return null;
  if (tree.kind === "string") {
    const plain = decodeString(text);
    return plain.isWellFormed() ? { plain, key: keyOf(plain) } : null;
  }
  if (!/^(0|-?[1-9]\d*)$/.test(text) || !Number.isSafeInteger(Number(text))) return null;
  return { plain: text, key: Number(text) };
}

function keyOf(plain: string): number | string {
  const number = Number(plain);
  // Not -0: it is the same number, but not the same key.
  return Number.isSafeInteger(number) ? number + 0 : plain;
}

function refuse(why: string): Reading {
  return { kind: "refused", why };
}
