import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from "../proxy/limits.ts";
import { createHttpProxy } from "../proxy/http-proxy.ts";
import { loginDirectory } from "../proxy/logins.ts";
import { readHeaders, readListen } from "./http-settings.ts";
import type { Parsed } from "./options.ts";
import { complain } from "./output.ts";
import { guard, openAuditLog } from "./run.ts";
import { openLog, readCommand, readEnvironment, readPatterns, readTime, value } from "./settings.ts";
import { usage } from "./usage.ts";
import { version } from "./version.ts";

/** Runs a proxy that speaks HTTP on one side or both. */
export async function runHttp(parsed: Parsed): Promise<number> {
  const upstream = value(parsed, "upstream");
  if (upstream !== undefined && parsed.rest !== null) {
    throw usage("A server is a command or a URL, not both", "Leave out --upstream, or what follows --");
  }
  const deny = readPatterns(parsed, "deny");
  const allow = readPatterns(parsed, "allow");
  const listen = readListen(parsed);
  const server =
    upstream === undefined
      ? { command: readCommand(parsed), env: readEnvironment(parsed), cwd: value(parsed, "cwd") }
      : {
          upstream,
          headers: readHeaders(parsed, process.env),
          ca: value(parsed, "ca") ?? null,
          loginDirectory: loginDirectory(process.env),
          onLoss: (value(parsed, "on-loss") ?? "exit") as "exit" | "keep",
        };
  const timeouts = {
    ...DEFAULT_TIMEOUTS,
    connection: readTime(parsed, "connect-timeout", DEFAULT_TIMEOUTS.connection),
    toolList: readTime(parsed, "tools-timeout", DEFAULT_TIMEOUTS.toolList),
  };
  const log = openLog(parsed);
  const audit = await openAuditLog(parsed, log);
  for (const signal of SIGNALS) process.on(signal, early);
  const proxy = await createHttpProxy({
    server,
    listen,
    client: { input: process.stdin, output: process.stdout },
    deny,
    allow,
    log,
    audit: audit === null ? null : (event) => audit.write(event),
    auditAll: value(parsed, "audit-level") === "all",
    limits: DEFAULT_LIMITS,
    timeouts,
    version: version(),
  });
  for (const signal of SIGNALS) process.off(signal, early);
  guard(proxy, log);
  const { code, lost } = await proxy.ended;
  await audit?.flush();
  if (lost) await complain("Error: Lost connection to upstream MCP\nShutting down proxy\n");
  return code;
}

/** Nothing is up yet that would have to be taken down. */
function early(): never {
  process.exit(1);
}

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
