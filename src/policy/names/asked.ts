import { OPEN_ARRAY, OPEN_OBJECT } from "../../message/characters.ts";
import { MAX_NAME_CHARACTERS, type Span } from "../../message/envelope.ts";
import { fold, isAlike } from "../../message/fold.ts";
import { eachMember, listElements, readString } from "../../message/members.ts";

/** What is filtered by name, besides tools. */
export type Kind = "prompts" | "resources";

/** A prompt or resource that a message is about. */
export interface Subject {
  readonly kind: Kind;
  /** Its name, its URI, or a URI template; null if it is not a string. */
  readonly text: string | null;
}

/** The kinds of subjects that a message with this method may have. */
export function kindsOf(method: string): readonly Kind[] {
  const kind = NAMED.get(method);
  if (kind !== undefined) return [kind];
  if (method === "completion/complete") return ["prompts", "resources"];
  return method === "subscriptions/listen" ? ["resources"] : [];
}

/**
 * The prompts and resources that a request or notification is about. Most are about none. "unreadable" if peers may
 * read it differently.
 */
export function readSubjects(bytes: Buffer, method: string, params: Span | null): readonly Subject[] | "unreadable" {
  const kind = NAMED.get(method);
  if (kind !== undefined) {
    const key = kind === "prompts" ? "name" : "uri";
    const said = params === null ? null : pick(bytes, params, key);
    return said === null ? "unreadable" : [{ kind, text: readString(bytes, said.get(key) ?? null) }];
  }
  switch (method) {
    case "completion/complete":
      return readReference(bytes, params);
    case "subscriptions/listen":
      return readSubscriptions(bytes, params);
    default:
      return NOTHING;
  }
}

const NOTHING: readonly Subject[] = [];

const NAMED = new Map<string, Kind>([
  ["prompts/get", "prompts"],
  ["resources/read", "resources"],
  ["resources/directory/read", "resources"],
  ["resources/subscribe", "resources"],
  ["resources/unsubscribe", "resources"],
  ["skills/get", "resources"],
  ["notifications/resources/updated", "resources"],
]);

/**
 * The prompt or URI template whose arguments are to be completed. `name` and `uri` both count, whatever `type` says.
 */
function readReference(bytes: Buffer, params: Span | null): readonly Subject[] | "unreadable" {
  const reference = params === null ? null : (pick(bytes, params, "ref")?.get("ref") ?? null);
  const said = reference === null ? null : pick(bytes, reference, "type", "name", "uri");
  if (said === null) return "unreadable";
  const subjects: Subject[] = [];
  const [name, uri] = [said.get("name"), said.get("uri")];
  if (name !== undefined) subjects.push({ kind: "prompts", text: readString(bytes, name) });
  if (uri !== undefined) subjects.push({ kind: "resources", text: readString(bytes, uri) });
  return subjects.length === 0 ? "unreadable" : subjects;
}

/** The resources whose updates the client subscribes to, since 2026-07-28. */
function readSubscriptions(bytes: Buffer, params: Span | null): readonly Subject[] | "unreadable" {
  if (params === null) return NOTHING;
  const said = pick(bytes, params, "notifications");
  const wanted = said?.get("notifications");
  if (said !== null && wanted === undefined) return NOTHING;
  const links = wanted === undefined ? null : pick(bytes, wanted, "resourceSubscriptions");
  if (links === null) return "unreadable";
  const list = links.get("resourceSubscriptions");
  if (list === undefined) return NOTHING;
  if (bytes[list.start] !== OPEN_ARRAY) return "unreadable";
  return listElements(bytes, list).map((span) => ({ kind: "resources", text: readString(bytes, span) }));
}

/** Describes a list whose elements can be hidden. */
interface ListForm {
  readonly kind: Kind;
  /** The key of the list in a result, and the key in an element whose value is judged. */
  readonly list: string;
  readonly name: string;
}

/** The lists, by the method whose result contains them. */
export const LISTS: ReadonlyMap<string, ListForm> = new Map([
  ["prompts/list", { kind: "prompts", list: "prompts", name: "name" }],
  ["resources/list", { kind: "resources", list: "resources", name: "uri" }],
  ["resources/templates/list", { kind: "resources", list: "resourceTemplates", name: "uriTemplate" }],
  ["resources/directory/read", { kind: "resources", list: "resources", name: "uri" }],
  ["skills/list", { kind: "resources", list: "skills", name: "uri" }],
]);

/** An element of a list. */
interface Entry {
  readonly span: Span;
  /** Null if its name is missing, is not valid text, or is too long for a request. */
  readonly text: string | null;
}

/** Reads a list. Null if it is not a list, or if peers may read it differently. */
export function readList(bytes: Buffer, result: Span, { kind, list, name }: ListForm): Entry[] | null {
  const span = pick(bytes, result, list)?.get(list);
  if (span === undefined || bytes[span.start] !== OPEN_ARRAY) return null;
  const entries: Entry[] = [];
  for (const element of listElements(bytes, span)) {
    const said = pick(bytes, element, name);
    if (said === null) return null;
    const text = readString(bytes, said.get(name) ?? null);
    const isSound =
      text !== null && text.isWellFormed() && (kind === "resources" || text.length <= MAX_NAME_CHARACTERS);
    entries.push({ span: element, text: isSound ? text : null });
  }
  return entries;
}

/** The members with these keys. Null if it is not an object, or if a careless peer could take another key for one. */
function pick(bytes: Buffer, span: Span, ...keys: string[]): Map<string, Span> | null {
  if (bytes[span.start] !== OPEN_OBJECT) return null;
  const folded = foldAll(keys);
  const found = new Map<string, Span>();
  let isDoubtful = false;
  eachMember(bytes, span, (key, value) => {
    if (keys.includes(key)) found.set(key, value);
    else if (key.length > MAX_NAME_CHARACTERS || isAlike(key, folded)) isDoubtful = true;
  });
  return isDoubtful ? null : found;
}

// Cached, because the same few keys are folded for each element of a list.
const known = new Map<string, ReadonlySet<string>>();

function foldAll(keys: readonly string[]): ReadonlySet<string> {
  const name = keys.join();
  const before = known.get(name);
  if (before !== undefined) return before;
  const folded = new Set(keys.map(fold));
  known.set(name, folded);
  return folded;
}
