import type { Class } from "../message/methods.ts";
import type { AuditField } from "../policy/audit-fields.ts";
import { createProxy, type Proxy, type ProxyOptions } from "../proxy/proxy.ts";
import type { AuditLog } from "../record/audit-writer.ts";
import { type AuditEvent, Unaudited } from "../record/event.ts";
import type { Log } from "../record/log.ts";
import type { Command } from "./commands.ts";
import type { Config } from "./config.ts";
import type { ErrorOutput } from "./error-output.ts";
import type { Parsed } from "./options.ts";
import { complain, createPaint } from "./output.ts";
import type { Reloading } from "./reload.ts";
import { findConfig, openLog, readCommand, readEnvironment, readPatterns, readTime, value } from "./settings.ts";

/** Runs the proxy until it is over. */
export async function runProxy(given: Parsed, command: Command, errors: ErrorOutput): Promise<number> {
  const config = await findConfig(given, command);
  const { parsed = given } = config ?? {};
  errors.follow(parsed);
  const deny = config?.deny ?? readPatterns(parsed, "deny");
  const allow = config?.allow ?? readPatterns(parsed, "allow");
  const speaksHttp = parsed.values.has("upstream") || parsed.values.has("listen");
  const server: Partial<ProxyOptions> = speaksHttp
    ? (await import("./http-options.ts")).readHttpOptions(parsed, config)
    : { command: readCommand(parsed), timeouts: { toolList: readTime(parsed, "tools-timeout", 10_000) } };
  const log = openLog(parsed);
  for (const text of config?.warnings ?? []) log.warn(text);
  const auditing = readAuditing(given, parsed, config);
  const audit = await openAuditLog(parsed, auditing, log);
  const parent = process.ppid;
  const watching = config === null ? null : await import("./reload.ts");
  // A service that is told to reload while it starts must not die of it.
  let isHungUp = false;
  if (watching !== null && parsed.values.has("listen")) process.on("SIGHUP", () => (isHungUp = true));
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
    observe: parsed.values.has("observe"),
    ...readPin(parsed),
    env: readEnvironment(parsed),
    cwd: value(parsed, "cwd"),
    log,
    audit: audit === null ? null : auditor(audit, auditing),
    auditAll: auditing.classes.has("pass"),
    ...(config === null
      ? {}
      : { ...config.policy, limits: config.limits, timeouts: { ...server.timeouts, ...config.timeouts } }),
  });
  const reloading = watching?.watchConfig(given, command, proxy, log) ?? null;
  guard(proxy, log, proxy.url === null ? null : reloading);
  if (isHungUp) reloading?.reload();
  if (proxy.url !== null && wantsPaste(parsed)) await complain(await describePaste(parsed, proxy.url));
  if (proxy.url === null && process.stdin.isTTY)
    log.info("waiting for MCP messages on stdin; this is meant to be started by a client");
  const { code, lost, child } = await proxy.ended;
  reloading?.stop();
  await audit?.flush();
  if (lost && child !== null)
    log.info("the server ended", child.signal === null ? { code: child.code } : { signal: child.signal });
  if (lost) await errors.error({ message: "Lost connection to upstream MCP", remedy: "Shutting down proxy" });
  return code;
}

/** Whether a person sees what is written on stderr, and wants to. */
function wantsPaste(parsed: Parsed): boolean {
  const level = value(parsed, "log-level") ?? "info";
  return process.stderr.isTTY && value(parsed, "log-format") !== "json" && (level === "info" || level === "debug");
}

async function describePaste(parsed: Parsed, url: string): Promise<string> {
  const { composePaste } = await import("./paste.ts");
  const asksForToken = parsed.values.has("auth-tokens") || parsed.values.has("auth-jwks");
  const hosts = parsed.values.get("allow-host") ?? [];
  return composePaste({ url, hosts, asksForToken }, createPaint(process.stderr, process.env));
}

/** What is audited, and what happens where that is not possible. */
interface Auditing {
  readonly fields: ReadonlySet<AuditField> | undefined;
  readonly classes: ReadonlySet<Class>;
  readonly mustAudit: boolean;
}

function readAuditing(given: Parsed, parsed: Parsed, config: Config | null): Auditing {
  const { fields = null, classes = null } = config?.auditInclude ?? {};
  const byLevel: readonly Class[] =
    value(parsed, "audit-level") === "all" ? ["pass", "log", "review"] : ["log", "review"];
  return {
    fields: fields === null ? undefined : new Set(fields),
    // What was typed wins over the file.
    classes: new Set(given.values.has("audit-level") ? byLevel : (classes ?? byLevel)),
    mustAudit: config?.mustAudit === true,
  };
}

/** Takes events for the log. Where messages must not pass without it, it throws what makes them stay. */
function auditor(audit: AuditLog, { classes, mustAudit }: Auditing): (event: AuditEvent) => void {
  return (event) => {
    // What somebody decided, what is odd and who was refused is written whatever its class.
    if (!classes.has(event.class) && event.rule === null && event.note === null && event.kind !== "login") return;
    if (!mustAudit) return audit.write(event);
    const goesNowhere = event.verdict === "deny" || event.verdict === "drop";
    if (goesNowhere) audit.write(event);
    else if (!audit.writeNow(event)) throw new Unaudited();
  };
}

function readPin(parsed: Parsed): Pick<ProxyOptions, "names"> {
  const pin = value(parsed, "pin");
  return pin === undefined ? {} : { names: { tools: { pin } } };
}

/** The audit log, if one is asked for. It is closed when we end, however we do. */
async function openAuditLog(parsed: Parsed, { fields }: Auditing, log: Log): Promise<AuditLog | null> {
  const file = value(parsed, "audit");
  if (file === undefined) return null;
  const { openAudit } = await import("../record/audit-log.ts");
  const audit = openAudit({ file, fields, warn: (text) => log.warn(text) });
  process.on("exit", () => audit.close());
  return audit;
}

/** Whatever happens to us, nothing of the server stays behind. */
function guard(proxy: Proxy, log: Log, reloading: Reloading | null): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => proxy.stop());
  // A service reads its policy again; a server of one client goes with its terminal.
  process.on("SIGHUP", () => (reloading === null ? proxy.stop() : reloading.reload()));
  const crash = (error: unknown): void => {
    log.error(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(1); // the handler below ends the server
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  process.on("exit", () => proxy.abandon());
}
