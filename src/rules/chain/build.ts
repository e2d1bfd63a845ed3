import { createTransform, type Transform } from "../transform/transform.ts";
import type { InterceptorSettings, MethodInterceptorSettings } from "../settings.ts";
import { isProblem, loadCel } from "../cel.ts";
import { type CompiledRule, compileRules, expressionsIn } from "../compiled-rule.ts";
import type { Rule, RuleAction } from "../rule.ts";
import { createRuleIndex } from "../rule-index.ts";
import { type Chain, createChain } from "./chain.ts";
import { createInterceptorStep, loadInterceptor, loadMethodInterceptor } from "../interceptors/module.ts";
import type { Interceptor } from "../interceptors/interceptor.ts";
import { createResourceAccessStep } from "../interceptors/resource-access.ts";
import { createToolCallStep } from "../interceptors/tool-call.ts";
import type { ChainServices } from "./services.ts";
import type { ChainState } from "../../store/state.ts";
import type { Step } from "./step.ts";

/** What is needed to build a chain. */
export interface BuildOptions {
  /** The folder of the policy file. Modules are resolved from there. */
  readonly folder: string;
  readonly observe: boolean;
  readonly server: string;
  readonly state: ChainState;
  readonly services: ChainServices;
  /** Interceptors passed by a program that uses the library. They run after those of the policy file. */
  readonly own?: readonly Interceptor[];
  /** Steps of the proxy itself, which run last. */
  readonly steps?: readonly Step[];
  /** The name of the chain if it runs beside another one. */
  readonly name?: string;
}

/** Builds the chain of a policy; null if it would be empty. Rejects if a module cannot be used. */
export async function buildChain(settings: InterceptorSettings, options: BuildOptions): Promise<Chain | null> {
  const { folder, observe, server, state, services, own = [], steps: last = [], name = null } = options;
  const isOn = settings.enabled && settings.mode === "mcp";
  const rules = isOn ? settings.rules.filter(({ mode }) => mode !== "off") : [];
  const { timeoutMs, defaultAction } = settings.chain;
  const steps = isOn ? await Promise.all(settings.interceptors.map((each) => loadInterceptor(each, folder))) : [];
  const methodSteps = isOn
    ? await Promise.all(Array.from(settings.methodInterceptors, ([method, each]) => makeStep(method, each, folder)))
    : [];
  for (const [nth, interceptor] of own.entries())
    steps.push(createInterceptorStep(interceptor.constructor?.name ?? `interceptor ${nth + 1}`, interceptor));
  steps.push(...last);
  const blocksByDefault = isOn && defaultAction === "block";
  if (rules.length + steps.length + methodSteps.length === 0 && !blocksByDefault) return null;
  const transforms = new Map<RuleAction, Transform>();
  for (const { actions } of rules)
    for (const action of actions)
      if (action.does === "transform")
        transforms.set(action, await createTransform(action.transform, { folder, timeoutMs }));
  return createChain({
    settings: { ...settings.chain, observe, server },
    index: createRuleIndex(await prepareRules(rules)),
    transforms,
    methodSteps,
    steps,
    state,
    services,
    name,
  });
}

/** Compiles rules, and loads the expression engine if they need it. */
export async function prepareRules(rules: readonly Rule[]): Promise<CompiledRule[]> {
  const expressions = expressionsIn(rules);
  if (expressions.length === 0) return compileRules(rules, null);
  const compile = await loadCel(expressions);
  return compileRules(rules, (expression) => {
    const made = compile(expression);
    if (isProblem(made)) throw new Error(`${expression}: ${made.problem}`);
    return made;
  });
}

async function makeStep(method: string, settings: MethodInterceptorSettings, folder: string): Promise<Step> {
  switch (settings.kind) {
    case "tool-call":
      return createToolCallStep(settings);
    case "resource-access":
      return createResourceAccessStep(settings);
    case "module":
      return loadMethodInterceptor(method, settings, folder);
  }
}
