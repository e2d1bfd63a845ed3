import type { ListExplanation, RuleExplanation, StopExplanation } from "../rules/chain/explain.ts";
import { showText } from "../message/text.ts";
import { describeCondition } from "../rules/describe.ts";
import type { Explanation } from "../proxy/explain.ts";

/** Formats an explanation for a terminal. */
export function composeExplanation({ stops, hiddenBy, decision, outcome, skipped }: Explanation): string {
  const lines: string[] = [];
  if (hiddenBy !== null) lines.push(`The tool filter hides this tool: ${showText(hiddenBy)}`, "");
  for (const stop of stops) lines.push(...composeStop(stop), "");
  for (const what of skipped) lines.push(`Not carried out by explain: ${showText(what)}`);
  lines.push(`Outcome: ${hiddenBy === null ? describeOutcome({ decision, outcome }) : "refused by the tool filter"}`);
  return `${lines.join("\n")}\n`;
}

/** Formats an explanation as JSON for programs. */
export function composeExplanationJson({ stops, hiddenBy, decision, outcome, skipped }: Explanation): string {
  const value = {
    messages: stops.map(({ moment, method, tool, isInner, rules }) => ({
      judged: moment,
      method,
      tool,
      inside: isInner,
      rules: rules.map(({ compiled: { rule }, answer, traces, elements }) => ({
        id: rule.id,
        name: rule.name,
        priority: rule.priority,
        line: rule.place.line,
        mode: rule.mode,
        matched: answer,
        metadata: rule.metadata,
        conditions: traces.map(function show({ condition, answer: held, saw, doubt, parts }): object {
          return { condition: describeCondition(condition), held, saw, doubt, parts: parts.map(show) };
        }),
        actions: rule.actions.map(({ does }) => does),
        ...(elements === null ? {} : { hides: namesOf(elements) }),
      })),
    })),
    hidden_by: hiddenBy,
    outcome: hiddenBy === null ? decision.verdict.do : "deny",
    rule: hiddenBy === null ? decision.rule : "tools",
    note: decision.note ?? null,
    sent: typeof outcome.onward === "string" ? null : outcome.onward.toString("utf8"),
    answered: outcome.back?.toString("utf8") ?? null,
    skipped,
  };
  return `${JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each), 2)}\n`;
}

function composeStop({ moment, method, tool, isInner, rules }: StopExplanation): string[] {
  const what = moment === "said" ? "" : "The answer to ";
  const about = `${what}${showText(method ?? "(no method)")}${tool === null ? "" : ` ${showText(tool)}`}`;
  const lines = [isInner ? `Inside it: ${about}` : about];
  if (rules.length === 0) lines.push("  There are no rules.");
  for (const rule of rules) lines.push(...composeRule(rule));
  return lines;
}

function composeRule({ compiled: { rule }, answer, traces, elements }: RuleExplanation): string[] {
  const place = `line ${rule.place.line}${rule.priority === 0 ? "" : `, priority ${rule.priority}`}`;
  const watches = rule.mode === "observe" ? ", only watches" : "";
  const verdict = elements === null ? ANSWERS[answer] : describeElements(elements);
  const lines = [`  ${SIGNS[answer]} ${showText(rule.id)} (${place}${watches}): ${verdict}`];
  if (elements !== null && elements.shown !== null) lines.push(`      for ${showText(elements.shown)}:`);
  const add = (trace: (typeof traces)[number], depth: number): void => {
    const saw = trace.saw === null || trace.saw === "" ? "" : `, it is ${showText(trace.saw)}`;
    const doubt = trace.doubt === null ? "" : ` (${showText(trace.doubt)})`;
    lines.push(`${" ".repeat(depth)}${SIGNS[trace.answer]} ${describeCondition(trace.condition)}${saw}${doubt}`);
    for (const part of trace.parts) add(part, depth + 2);
  };
  for (const trace of traces) add(trace, 6);
  if (answer === "yes") lines.push(`      → ${rule.actions.map(({ does }) => does).join(", ")}${hiddenIn(elements)}`);
  return lines;
}

function hiddenIn(elements: ListExplanation | null): string {
  if (elements === null) return "";
  const names = namesOf(elements).map((name) => showText(name ?? "(no name)", MAX_NAME_CHARACTERS));
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return ` ${names.slice(0, MAX_NAMES).join(", ")}${more}`;
}

const MAX_NAMES = 20;
const MAX_NAME_CHARACTERS = 80;

/** The result of a rule that hides, which is judged for each element of a list. */
function describeElements({ judged }: ListExplanation): string {
  const hidden = judged.filter(({ isHidden }) => isHidden).length;
  return hidden === 0 ? `hides none of ${judged.length} entries` : `hides ${hidden} of ${judged.length} entries`;
}

function namesOf({ judged }: ListExplanation): (string | null)[] {
  return judged.filter(({ isHidden }) => isHidden).map(({ name }) => name);
}

const SIGNS: Record<RuleExplanation["answer"], string> = {
  yes: "✓",
  no: "✗",
  unsure: "?",
  off: "-",
  "other-direction": "-",
  "when-answered": "-",
  "when-said": "-",
};

const ANSWERS: Record<RuleExplanation["answer"], string> = {
  yes: "matches",
  no: "does not match",
  unsure: "cannot be judged, so the message is blocked",
  off: "is off",
  "other-direction": "is for the other direction",
  "when-answered": "is judged when the answer comes",
  "when-said": "was judged when the request came",
};

function describeOutcome({ decision, outcome }: Pick<Explanation, "decision" | "outcome">): string {
  const { verdict, rule } = decision;
  const by = rule === null ? "" : ` by ${showText(rule)}`;
  switch (verdict.do) {
    case "pass":
      return decision.note === undefined ? "passes as it is" : `passes as it is (${showText(decision.note)})`;
    case "change":
    case "hide":
    case "edit":
      return `passes, changed${by}\n${typeof outcome.onward === "string" ? "" : outcome.onward.toString("utf8")}`;
    case "deny":
      return `refused${by}: ${verdict.error.code} ${showText(verdict.error.message)}`;
    case "drop":
      return `dropped${by}`;
    case "reply":
      return `answered here${by}\n${outcome.back?.toString("utf8") ?? ""}`;
    case "park":
      return "waits";
  }
}
