import { createProxy } from "../proxy/proxy.ts";
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
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => proxy.stop());
  // Whatever happens to us, nothing of the server stays behind.
  process.on("exit", () => proxy.kill());
  const { code, lost } = await proxy.ended;
  if (lost) process.stderr.write("Error: Lost connection to upstream MCP\nShutting down proxy\n");
  return code;
}
