export { createProxy, type Proxy, type ProxyOptions } from "./proxy/proxy.ts";
export { ProxyError, type ProxyErrorCode } from "./errors.ts";
