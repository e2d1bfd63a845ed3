import { type Change, NO_CHANGE, problem } from "../action/change.ts";
import { OPEN_ARRAY, OPEN_OBJECT } from "../message/characters.ts";
import { cutElements, type Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { fold, isAlike } from "../message/fold.ts";
import { eachMember, findMember, listElements, readString } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import type { CompiledRule } from "../policy/rules/compiled-rule.ts";
import { askRule } from "../policy/rules/compiled-rule.ts";
import { beginLook } from "../policy/rules/view.ts";
import type { View } from "./view.ts";

/** The member of a result that is a list, and what its elements are called by. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  tools: ["name"],
  prompts: ["name"],
  resources: ["uri", "name"],
  resourceTemplates: ["uriTemplate", "name"],
  roots: ["uri", "name"],
  tasks: ["taskId"],
  skills: ["name"],
};

/**
 * The edits that take those elements out of a list that a rule matches. For each of them the rule sees the element as the
 * result, and its name as the tool. What cannot be judged is hidden.
 */
export function hideElements(message: Message, view: View, compiled: CompiledRule): Change {
  const { bytes, envelope } = message;
  if (envelope.kind !== "result" || bytes[envelope.result.start] !== OPEN_OBJECT) return NO_CHANGE;
  const edits: Edit[] = [];
  let isClear = true;
  eachMember(bytes, envelope.result, (key, list) => {
    if (!Object.hasOwn(LISTS, key)) isClear &&= !isAlike(key, FOLDED);
    if (!Object.hasOwn(LISTS, key) || bytes[list.start] !== OPEN_ARRAY) return;
    const elements = listElements(bytes, list);
    const isHidden = elements.map((element) => matches(bytes, element, LISTS[key], view, compiled));
    edits.push(...cutElements(elements, (index) => isHidden[index]));
  });
  return isClear ? { edits } : problem("peers could see different lists in it");
}

const FOLDED = new Set(Object.keys(LISTS).map(fold));

function matches(bytes: Buffer, element: Span, names: readonly string[], view: View, compiled: CompiledRule): boolean {
  // What some peer would call it by is hidden, whatever the rule makes of the name that we see.
  const folded = new Set(names.map(fold));
  let isClear = true;
  if (bytes[element.start] === OPEN_OBJECT)
    eachMember(bytes, element, (key) => {
      isClear &&= names.includes(key) || !isAlike(key, folded);
    });
  if (!isClear) return true;
  const name = names.map((each) => readString(bytes, findMember(bytes, element, each))).find((text) => text !== null);
  return askRule(compiled, beginLook(view.ofElement(name ?? null, { bytes, ...element }))) !== "no";
}
