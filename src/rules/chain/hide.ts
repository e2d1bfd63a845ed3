import { type Change, NO_CHANGE, problem } from "../../action/change.ts";
import { OPEN_ARRAY, OPEN_OBJECT } from "../../message/characters.ts";
import { cutElements, type Edit } from "../../message/edit.ts";
import type { Span } from "../../message/envelope.ts";
import { fold, isAlikeAt } from "../../message/fold.ts";
import { eachKey, listElements, readString } from "../../message/members.ts";
import type { Message } from "../../message/message.ts";
import { isSpelled } from "../../message/spelling.ts";
import type { CompiledRule } from "../compiled-rule.ts";
import { askRule } from "../compiled-rule.ts";
import { beginLook } from "../view.ts";
import { spend, walkSteps, type Work } from "../work.ts";
import type { View } from "./turn-view.ts";

/** The key of a list in a result, and the keys under which its elements have their names. */
interface ListForm {
  readonly key: string;
  readonly names: readonly string[];
  readonly folded: ReadonlySet<string>;
}

const LISTS: readonly ListForm[] = [
  listForm("tools", "name"),
  listForm("prompts", "name"),
  listForm("resources", "uri", "name"),
  listForm("resourceTemplates", "uriTemplate", "name"),
  listForm("roots", "uri", "name"),
  listForm("tasks", "taskId"),
  listForm("skills", "name"),
];

const FOLDED = new Set(LISTS.map(({ key }) => fold(key)));

function listForm(key: string, ...names: string[]): ListForm {
  return { key, names, folded: new Set(names.map(fold)) };
}

/**
 * The edits that remove the elements of a list that a rule matches. For each element, the rule sees the element as the
 * result and its name as the tool. An element that cannot be judged is hidden. Throws if the message has no steps left.
 */
export function hideElements(message: Message, view: View, compiled: CompiledRule, work: Work): Change {
  const lists = judgeElements(message, view, compiled, work);
  if (lists === "unclear") return problem("it is ambiguous: peers could read different lists in it");
  if (lists.length === 0) return NO_CHANGE;
  const edits: Edit[] = [];
  for (const elements of lists)
    for (const edit of cutElements(elements, (index) => elements[index].isHidden)) edits.push(edit);
  return { edits };
}

/** An element of a list, and whether a rule hides it. */
export interface JudgedElement extends Span {
  readonly name: string | null;
  readonly isHidden: boolean;
  /** What the rule saw; null if the element was hidden without being judged. */
  readonly view: View | null;
}

/** Judges each element of the lists in a result by a rule that hides; "unclear" if peers could see different lists. */
export function judgeElements(
  { bytes, envelope }: Message,
  view: View,
  compiled: CompiledRule,
  work: Work,
): JudgedElement[][] | "unclear" {
  if (envelope.kind !== "result" || bytes[envelope.result.start] !== OPEN_OBJECT) return [];
  const lists: JudgedElement[][] = [];
  let isClear = true;
  spend(work, walkSteps(envelope.result.end - envelope.result.start));
  eachKey(bytes, envelope.result, (keyStart, keyEnd, start, end) => {
    const list = LISTS.find(({ key }) => isSpelled(bytes, keyStart, keyEnd, key));
    if (list === undefined) isClear = !isAlikeAt(bytes, keyStart, keyEnd, FOLDED);
    else if (bytes[start] === OPEN_ARRAY)
      lists.push(
        listElements(bytes, { start, end }).map((element) => judgeElement(bytes, element, list, view, compiled, work)),
      );
    return isClear;
  });
  return isClear ? lists : "unclear";
}

function judgeElement(
  bytes: Buffer,
  element: Span,
  { names, folded }: ListForm,
  view: View,
  compiled: CompiledRule,
  work: Work,
): JudgedElement {
  spend(work, STEPS_PER_ELEMENT + walkSteps(element.end - element.start));
  const found: (string | null)[] = names.map(() => null);
  let isClear = true;
  if (bytes[element.start] === OPEN_OBJECT)
    eachKey(bytes, element, (keyStart, keyEnd, start, end) => {
      const nth = names.findIndex((name) => isSpelled(bytes, keyStart, keyEnd, name));
      if (nth >= 0) found[nth] = readString(bytes, { start, end });
      else isClear = !isAlikeAt(bytes, keyStart, keyEnd, folded);
      return isClear;
    });
  const name = found.find((text) => text !== null) ?? null;
  // Some peers would read another key as the name of the element. Hide it, whatever the rule says about the name seen
  // here.
  if (!isClear) return { ...element, name, isHidden: true, view: null };
  const own = view.ofElement(name, { bytes, ...element });
  return { ...element, name, isHidden: askRule(compiled, beginLook(own, work)) !== "no", view: own };
}

/** The cost of starting with an element, whatever is tested. */
const STEPS_PER_ELEMENT = 150;
