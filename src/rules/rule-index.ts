import type { Direction } from "../message/message.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { type Answer, askAll, type Clause } from "./conditions.ts";
import { type Gist, guess } from "./guess.ts";
import type { Look } from "./view.ts";

/** A rule that may match a message. */
export interface Candidate {
  readonly compiled: CompiledRule;
  /** Its conditions, without those that hold for every message with this method, direction and tool. */
  readonly clauses: readonly Clause[];
}

/** Whether a rule matches. Never throws: the answer is "unsure" if the rule could not be judged. */
export function askCandidate({ clauses }: Candidate, look: Look): Answer {
  return askAll(clauses, look);
}

/** What is kept of a request until its response arrives. */
export type Kept = "params" | "client" | "nothing";

/** The rules of a policy, indexed by moment, direction, method and tool. */
export interface RuleIndex {
  /** The rules that may match, highest priority first, then in the order of the policy file. */
  find(gist: Gist): readonly Candidate[];
  /** What rules need of a request when its response is sent in this direction: its params, its client, or nothing. */
  keeps(direction: Direction, method: string): Kept;
}

/** How many methods and tool names have a cached list of rules. For others, the list is built for each message. */
const MAX_REMEMBERED = 1024;

/** Rules are filtered by tool only if there are more than this. */
const FEW = 8;

/** Creates an index of all rules that are not off. */
export function createRuleIndex(rules: readonly CompiledRule[]): RuleIndex {
  const active = rules
    .filter(({ rule }) => rule.mode !== "off")
    .sort((one, other) => other.rule.priority - one.rule.priority || one.order - other.order);
  const shelves = { said: { up: shelf(), down: shelf() }, answered: { up: shelf(), down: shelf() } };
  const kept = { up: new Map<string, Kept>(), down: new Map<string, Kept>() };
  let remembered = 0;

  function shelfOf({ moment, direction, method }: Gist): Shelf {
    const side = moment === "said" ? shelves.said : shelves.answered;
    const methods = direction === "up" ? side.up : side.down;
    const known = methods.get(method);
    if (known !== undefined) return known;
    const anyTool: Gist = { moment, direction, method, tool: undefined };
    const made: Shelf = { rules: active.flatMap((rule) => candidate(rule, anyTool)), byTool: new Map() };
    if (remembered < MAX_REMEMBERED) {
      remembered++;
      methods.set(method, made);
    }
    return made;
  }

  function find(gist: Gist): readonly Candidate[] {
    const { rules: some, byTool } = shelfOf(gist);
    if (typeof gist.tool !== "string" || some.length <= FEW) return some;
    const known = byTool.get(gist.tool);
    if (known !== undefined) return known;
    const picked = some.flatMap(({ compiled }) => candidate(compiled, gist));
    if (remembered < MAX_REMEMBERED) {
      remembered++;
      byTool.set(gist.tool, picked);
    }
    return picked;
  }

  return {
    find,
    keeps(direction, method) {
      // By method only, so that it costs one map lookup for each request.
      const known = kept[direction].get(method);
      if (known !== undefined) return known;
      const rulesFor = shelfOf({ moment: "answered", direction, method, tool: undefined }).rules;
      const looks = rulesFor.some(({ compiled }) => compiled.looksIntoParams);
      const found = looks ? "params" : rulesFor.length > 0 ? "client" : "nothing";
      if (kept[direction].size < MAX_REMEMBERED) kept[direction].set(method, found);
      return found;
    },
  };
}

function shelf(): Map<string | null, Shelf> {
  return new Map();
}

/** The rules for one method. */
interface Shelf {
  readonly rules: readonly Candidate[];
  readonly byTool: Map<string, readonly Candidate[]>;
}

/** The rule as a candidate for such messages; an empty list if it cannot match them. */
function candidate(compiled: CompiledRule, gist: Gist): Candidate[] {
  const { rule, moment } = compiled;
  if (moment !== gist.moment || (rule.direction !== null && rule.direction !== gist.direction)) return [];
  const answers = compiled.clauses.map(({ condition }) => guess(condition, gist));
  if (answers.includes("no")) return [];
  return [{ compiled, clauses: compiled.clauses.filter((_, nth) => answers[nth] !== "yes") }];
}
