export type {
  Intercepted,
  InterceptedSession,
  Interceptor,
  InterceptResult,
  MethodCounts,
  MethodInterceptor,
  TransformFunction,
  TransformSubject,
} from "./rules/interceptors/interceptor.ts";
export { ConnectionError, ProxyError, type ProxyErrorCode } from "./errors.ts";
export type { OwnAuth, OwnSettings } from "./config/merge-settings.ts";
export type { PolicySettings } from "./config/settings.ts";
export { parsePattern, parsePatternList, type Pattern } from "./policy/patterns.ts";
export type { UpstreamConnection } from "./proxy/connection.ts";
export type { ConversationEnd, ClientStreams } from "./proxy/conversation.ts";
export type { ProxyHappening, ProxyObserver } from "./proxy/happenings.ts";
export { inspectTools, type InspectOptions, type InspectReport, type ToolReport } from "./proxy/inspect.ts";
export type { StartProgress } from "./proxy/patience.ts";
export { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, type Limits, type Timeouts } from "./proxy/limits.ts";
export { loadPolicyFile, optionsFromPolicy } from "./proxy/load-policy.ts";
export type { FilteredTool, ProxyConfig, SessionStatistics, ToolFilterResult } from "./proxy/model.ts";
export type { NameLists, NameOptions } from "./proxy/names.ts";
export type { LoadedPolicy } from "./proxy/policy-file.ts";
export { createProxy } from "./proxy/proxy.ts";
export type { ListenSettings, Proxy, ProxyOptions } from "./proxy/proxy-options.ts";
export type { AuditEvent } from "./record/event.ts";
export type { Who } from "./record/observers.ts";
export { createLog, type Level, type Log, type LogOptions } from "./record/log/log.ts";
