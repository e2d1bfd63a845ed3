import type { Environment } from "@marcbachmann/cel-js";
import { type CelValue, type Measured, readCelValue, toCelValue } from "./cel-values.ts";
import { inspect } from "./cel-inspect.ts";
import { type CompilePattern, isPattern, loadPatterns, sizeOf } from "./patterns.ts";
import type { RulePattern } from "./rule.ts";
import type { Json } from "../message/json.ts";
import { runLimited } from "../policy/time-limit.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import { keep, type Look, partOf, type RuleView, type Section } from "./view.ts";
import type { MethodStatistics } from "../store/session-facts.ts";
import { spend, type Work } from "./work.ts";

/** A compiled expression. */
export interface CelTest {
  /** The variables that the expression uses. */
  readonly uses: ReadonlySet<string>;
  /** Evaluates the expression. Throws if the value is not a boolean. */
  test(look: Look): boolean;
  saw(look: Look): string;
}

/** What is wrong with an expression, for the author of the policy file. */
export interface CelProblem {
  readonly problem: string;
  /** The offset in the expression; null if unknown. */
  readonly at: number | null;
}

/** Whether an expression failed to compile. */
export function isProblem(made: CelTest | CelProblem): made is CelProblem {
  return "problem" in made;
}

/** Compiles an expression, or says what is wrong with it. */
export type CompileCel = (expression: string) => CelTest | CelProblem;

/** The largest section of a message, in bytes, that is converted to values for an expression. */
export const MAX_CEL_BYTES = 262_144;

/** The limits for an expression: its nodes, and how deep they are nested. */
const MAX_CEL_NODES = 1000;
const MAX_CEL_DEPTH = 64;

/**
 * The timeout for an expression on a message large enough to make it slow. Normally the step limit ends the evaluation
 * first; the timeout is for costs that are not counted, such as strings that grow with every `+`.
 */
export const CEL_LIMIT_MS = 5000;

/** Expressions with loops run with the timeout if their estimated cost is above this: iterations times bytes. */
const MAX_UNWATCHED = 4 * 2 ** 20;

/** The variables that an expression may use. */
const VARIABLES = ["method", "params", "result", "error", "session", "client"] as const;

/** Loads the expression engine, and the pattern engine if an expression calls `matches`. */
export async function loadCel(expressions: readonly string[]): Promise<CompileCel> {
  const { Environment } = await import("@marcbachmann/cel-js");
  const patterns = expressions.some((text) => text.includes("matches")) ? await loadPatterns() : null;
  const compiled = new Map<string, RulePattern>();
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxAstNodes: MAX_CEL_NODES, maxDepth: MAX_CEL_DEPTH },
  });
  for (const name of VARIABLES) environment.registerVariable(name, "dyn");
  const meter = createMeter();
  // The engine's own `matches` uses backtracking regular expressions, which can take exponential time.
  environment.registerFunction(`string.${LINEAR}(string): bool`, (text: string, source: string) => {
    const pattern = compiled.get(source);
    if (pattern === undefined) throw new Error("a pattern that is not written out");
    meter.spend(text.length * sizeOf(pattern));
    return pattern.test(text);
  });
  return (expression) => compile(environment, expression, patterns, compiled, meter);
}

/** Counts the steps of the expression that is being evaluated. Only one is evaluated at a time. */
interface Meter {
  run<T>(work: Work, longest: number, evaluate: () => T): T;
  round(nodes: number): void;
  spend(steps: number): void;
}

function createMeter(): Meter {
  let work: Work | null = null;
  let longest = 0;
  const take = (steps: number): void => {
    if (work !== null) spend(work, steps);
  };
  return {
    run(given, longestText, evaluate) {
      work = given;
      longest = longestText;
      try {
        return evaluate();
      } finally {
        work = null;
      }
    },
    // An iteration may search a string; assume the longest one.
    round: (nodes) => take(STEPS_PER_NODE * nodes + (longest >> 5)),
    spend: take,
  };
}

/** The cost of evaluating one node of an expression, in steps. */
const STEPS_PER_NODE = 10;

/** The name that calls of `matches` are renamed to. */
const LINEAR = "matchesInLinearTime";

function compile(
  environment: Environment,
  expression: string,
  patterns: CompilePattern | null,
  compiled: Map<string, RulePattern>,
  meter: Meter,
): CelTest | CelProblem {
  let run: ReturnType<Environment["parse"]>;
  try {
    run = environment.parse(expression);
  } catch (error) {
    return describe(error);
  }
  const found = inspect(run.ast, LINEAR, (nodes) => meter.round(nodes));
  for (const { pattern: source, at } of found.matches) {
    if (source === null) return { problem: "`matches` needs a pattern that is written out", at };
    const made = patterns?.(source) ?? { problem: "cannot be compiled" };
    if (!isPattern(made)) return { problem: `the pattern "${source}" ${made.problem}`, at };
    compiled.set(source, made);
  }
  const { valid, type, error } = run.check();
  if (!valid) return describe(error);
  if (type !== "bool" && type !== "dyn") return { problem: `its result must be true or false, not ${type}`, at: null };
  const uses = new Set(VARIABLES.filter((name) => found.names.has(name)));
  const asksForMethods = uses.has("session") && expression.includes("method_stats");
  return {
    uses,
    test(look) {
      const { variables, isHeavy, bytes, longest } = gather(look, uses, found, asksForMethods);
      spend(look.work, STEPS_PER_NODE * found.nodes + (bytes >> 3));
      const answer: unknown = meter.run(look.work, longest, () => {
        if (!isHeavy) return run(variables);
        let heavy: unknown;
        if (runLimited(() => void (heavy = run(variables)), CEL_LIMIT_MS)) return heavy;
        throw new Unjudgeable(`an expression took more than ${CEL_LIMIT_MS} ms`);
      });
      if (typeof answer !== "boolean") throw new Error("the result of the expression is not true or false");
      return answer;
    },
    saw: () => [...uses].join(", "),
  };
}

/**
 * The variables of an expression, each built once for all expressions, and whether evaluation with them may be slow.
 */
function gather(look: Look, uses: ReadonlySet<string>, found: ReturnType<typeof inspect>, asksForMethods: boolean) {
  const variables: Record<string, CelValue> = {};
  let bytes = 0;
  let widest = 0;
  let longest = 0;
  for (const name of uses) {
    const measured = variable(look, name === "session" && asksForMethods ? SESSION_WITH_METHODS : name);
    variables[name] = measured.value;
    bytes += measured.bytes;
    widest = Math.max(widest, measured.widest);
    longest = Math.max(longest, measured.longest);
  }
  const steps = (found.splits ? bytes : widest) ** found.loops;
  return { variables, bytes, longest, isHeavy: found.loops > 0 && steps * Math.max(bytes, 1) > MAX_UNWATCHED };
}

function variable(look: Look, name: string): Measured & { readonly bytes: number } {
  return keep(look, `cel:${name}`, () => makeVariable(look, name));
}

function makeVariable(look: Look, name: string): Measured & { readonly bytes: number } {
  const { view } = look;
  if (name === "method") return small(view.method);
  if (name === "client") return small(toCelValue({ name: view.client, identity: view.identity }));
  if (name === "session") return small(toCelValue(factsOf(view)));
  if (name === SESSION_WITH_METHODS) {
    const methods = Array.from(view.session.methods, ([method, one]) => [method, statisticsOf(one)] as const);
    return small(toCelValue({ ...factsOf(view), method_stats: Object.fromEntries(methods) }));
  }
  const part = partOf(view, name as Section);
  if (part === null) return small(null);
  const bytes = part.end - part.start;
  if (bytes > MAX_CEL_BYTES) throw new Unjudgeable(`${name} of more than ${MAX_CEL_BYTES} bytes`);
  spend(look.work, 2 * bytes);
  return { ...readCelValue(part), bytes };
}

/**
 * The session with its counters by method. It is slower to build, so only expressions that mention `method_stats` get
 * it.
 */
const SESSION_WITH_METHODS = "session with methods";

function factsOf({ session, mcpSession }: RuleView): { readonly [key: string]: Json } {
  return {
    id: session.id,
    mcp_session_id: mcpSession,
    age_ms: Math.floor(session.ageMs()),
    message_count: session.messages,
    calls: session.calls(null),
    state: Object.fromEntries(session.state),
  };
}

function statisticsOf({ requests, results, errors, notifications, answeredInMs }: MethodStatistics): Json {
  return { requests, results, errors, notifications, answered_in_ms: Math.round(answeredInMs) };
}

function small(value: CelValue): Measured & { readonly bytes: number } {
  return { value, widest: 0, longest: 0, bytes: 0 };
}

function describe(error: unknown): CelProblem {
  const { message, summary, node } = error as { message: string; summary?: string; node?: { pos?: number } };
  return { problem: summary ?? message.split("\n")[0], at: node?.pos ?? null };
}
