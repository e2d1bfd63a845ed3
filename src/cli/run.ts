import { createProxy, type Proxy } from "../proxy/proxy.ts";
import type { Log } from "../record/log.ts";
import type { Parsed } from "./options.ts";
import { openLog, readCommand, readEnvironment, readPatterns, readTime, value } from "./settings.ts";

/** Runs the proxy until it is over. */
export async function runProxy(parsed: Parsed): Promise<number> {
  const command = readCommand(parsed, "");
  const deny = readPatterns(parsed, "deny");
  const allow = readPatterns(parsed, "allow");
  const log = openLog(parsed);
  const proxy = await createProxy({
    command,
    deny,
    allow,
    env: readEnvironment(parsed),
    cwd: value(parsed, "cwd"),
    timeouts: { toolList: readTime(parsed, "tools-timeout", 10_000) },
    log,
  });
  guard(proxy, log);
  if (process.stdin.isTTY) log.info("waiting for MCP messages on stdin; this is meant to be started by a client");
  const { code, lost } = await proxy.ended;
  if (lost) process.stderr.write("Error: Lost connection to upstream MCP\nShutting down proxy\n");
  return code;
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
