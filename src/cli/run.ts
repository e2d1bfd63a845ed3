import { createProxy, type Proxy, type ProxyOptions } from "../proxy/proxy.ts";
import type { AuditLog } from "../record/audit-writer.ts";
import type { Log } from "../record/log.ts";
import type { Parsed } from "./options.ts";
import { complain } from "./output.ts";
import { openLog, readCommand, readEnvironment, readPatterns, readTime, value } from "./settings.ts";

/** Runs the proxy until it is over. */
export async function runProxy(parsed: Parsed): Promise<number> {
  const deny = readPatterns(parsed, "deny");
  const allow = readPatterns(parsed, "allow");
  const speaksHttp = parsed.values.has("upstream") || parsed.values.has("listen");
  const server = speaksHttp
    ? (await import("./http-options.ts")).readHttpOptions(parsed)
    : { command: readCommand(parsed), timeouts: { toolList: readTime(parsed, "tools-timeout", 10_000) } };
  const log = openLog(parsed);
  const audit = await openAuditLog(parsed, log);
  const parent = process.ppid;
  const proxy = await createProxy({
    ...server,
    client: {
      // Made when they are first looked at, which is after the server was started.
      get input() {
        return process.stdin;
      },
      get output() {
        return process.stdout;
      },
      isGone: () => process.ppid !== parent,
    },
    deny,
    allow,
    ...readPin(parsed),
    env: readEnvironment(parsed),
    cwd: value(parsed, "cwd"),
    log,
    audit: audit === null ? null : (event) => audit.write(event),
    auditAll: value(parsed, "audit-level") === "all",
  });
  guard(proxy, log);
  if (proxy.url === null && process.stdin.isTTY)
    log.info("waiting for MCP messages on stdin; this is meant to be started by a client");
  const { code, lost, child } = await proxy.ended;
  await audit?.flush();
  if (lost && child !== null)
    log.info("the server ended", child.signal === null ? { code: child.code } : { signal: child.signal });
  if (lost) await complain("Error: Lost connection to upstream MCP\nShutting down proxy\n");
  return code;
}

function readPin(parsed: Parsed): Pick<ProxyOptions, "names"> {
  const pin = value(parsed, "pin");
  return pin === undefined ? {} : { names: { tools: { pin } } };
}

/** The audit log, if one is asked for. It is closed when we end, however we do. */
async function openAuditLog(parsed: Parsed, log: Log): Promise<AuditLog | null> {
  const file = value(parsed, "audit");
  if (file === undefined) return null;
  const { openAudit } = await import("../record/audit-log.ts");
  const audit = openAudit({ file, warn: (text) => log.warn(text) });
  process.on("exit", () => audit.close());
  return audit;
}

/** Whatever happens to us, nothing of the server stays behind. */
function guard(proxy: Proxy, log: Log): void {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => proxy.stop());
  const crash = (error: unknown): void => {
    log.error(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(1); // the handler below ends the server
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  process.on("exit", () => proxy.abandon());
}
