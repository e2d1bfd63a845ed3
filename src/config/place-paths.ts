import { resolve } from "node:path";
import type { Rule, RuleAction } from "../rules/rule.ts";
import { isModulePath } from "./facts.ts";
import type { PolicySettings } from "./settings.ts";
import type { MethodInterceptorSettings, ModuleSettings } from "../rules/settings.ts";

/**
 * Makes all paths in a policy absolute. They are relative to the folder of the policy file, because a client may start
 * the proxy in any directory. Package names, and names of programs on the PATH, stay as they are.
 */
export function placePaths(settings: PolicySettings, folder: string): PolicySettings {
  const { upstream, tools, interceptor, audit, auth, log } = settings;
  const place = (path: string | null): string | null => (path === null ? null : resolve(folder, path));
  const placeModule = <T extends ModuleSettings>(setting: T): T => ({
    ...setting,
    module: isModulePath(setting.module) ? resolve(folder, setting.module) : setting.module,
    written: setting.module,
  });
  const placeMethod = (setting: MethodInterceptorSettings): MethodInterceptorSettings =>
    setting.kind === "module" ? placeModule(setting) : setting;
  const placeAction = (action: RuleAction): RuleAction => {
    if (action.does === "run_script" && /[\\/]/.test(action.path))
      return { ...action, path: resolve(folder, action.path) };
    if (action.does === "transform" && action.transform.kind === "module")
      return { ...action, transform: placeModule(action.transform) };
    return action;
  };
  return {
    ...settings,
    upstream: upstream?.kind === "command" ? { ...upstream, cwd: place(upstream.cwd) } : upstream,
    tools: { ...tools, pin: tools.pin === null ? null : { ...tools.pin, file: resolve(folder, tools.pin.file) } },
    audit: audit === null ? null : { ...audit, file: resolve(folder, audit.file) },
    auth: auth?.kind === "tokens" ? { ...auth, file: resolve(folder, auth.file) } : auth,
    log: { ...log, file: place(log.file) },
    interceptor: {
      ...interceptor,
      rules: interceptor.rules.map((rule) => placeRule(rule, placeAction)),
      methodInterceptors: new Map(
        Array.from(interceptor.methodInterceptors, ([method, setting]) => [method, placeMethod(setting)]),
      ),
      interceptors: interceptor.interceptors.map(placeModule),
    },
  };
}

/** Few rules contain paths. The others are not copied. */
function placeRule(rule: Rule, placeAction: (action: RuleAction) => RuleAction): Rule {
  const hasPath = rule.actions.some(({ does }) => does === "run_script" || does === "transform");
  return hasPath ? { ...rule, actions: rule.actions.map(placeAction) } : rule;
}
