import type { Class } from "../message/methods.ts";
import type { AuditField } from "../record/audit/fields.ts";
import type { Settings } from "../config/merge-settings.ts";
import { optionsOf } from "../proxy/settings-options.ts";
import { createProxy } from "../proxy/proxy.ts";
import type { Proxy, ProxyOptions } from "../proxy/proxy-options.ts";
import type { AuditLog } from "../record/audit/writer.ts";
import { type AuditEvent, Unaudited } from "../record/event.ts";
import type { Log } from "../record/log/log.ts";
import type { Command, Parsed } from "./command-line.ts";
import type { ErrorOutput } from "./error-output.ts";
import { complain, createPaint } from "./output.ts";
import type { Reloading } from "./reload.ts";
import { readSettings } from "./read-settings.ts";
import { noServer, openLog, value } from "./settings.ts";

/** Runs the proxy until it ends. */
export async function runProxy(parsed: Parsed, command: Command, errors: ErrorOutput): Promise<number> {
  const watching = parsed.values.has("config") ? await import("./reload.ts") : null;
  const version = watching?.configVersion(parsed) ?? null;
  const { settings, policy, warnings } = await readSettings(parsed, command, errors);
  const isServing = settings.listen !== null;
  const http =
    isServing || settings.upstream?.kind === "url"
      ? (await import("./http-options.ts")).readHttpOptions(parsed, settings)
      : {};
  if (settings.upstream === null) throw noServer(parsed);
  const log = openLog(settings.log);
  for (const text of warnings) log.warn(text);
  const auditing = readAuditing(settings);
  const audit = await openAuditLog(settings, auditing, log);
  const parent = process.ppid;
  // SIGHUP asks a service to reload. Without a handler, it would end the process during the start.
  let isHungUp = false;
  if (watching !== null && isServing) process.on("SIGHUP", () => (isHungUp = true));
  const proxy = await createProxy({
    ...optionsOf(settings),
    ...http,
    client: {
      // Getters, because the streams are opened on first access, which is after the server was started.
      get input() {
        return process.stdin;
      },
      get output() {
        return process.stdout;
      },
      isGone: () => process.ppid !== parent,
    },
    observe: parsed.values.has("observe"),
    ...readPin(parsed),
    log,
    audit: audit === null ? null : auditor(audit, auditing),
    auditAll: auditing.classes.has("pass"),
    ...policy,
  });
  const started = { settings: policy.policy ?? null, version };
  const reloading = watching?.watchConfig({ given: parsed, command, proxy, log, started }) ?? null;
  guard(proxy, log, proxy.url === null ? null : reloading);
  if (isHungUp) reloading?.reload();
  if (proxy.url !== null && wantsPaste(settings)) await complain(await describePaste(parsed, settings, proxy.url));
  if (proxy.url === null && process.stdin.isTTY)
    log.info("waiting for MCP messages on stdin; this command is meant to be started by an MCP client");
  const { code, lost, child } = await proxy.ended;
  reloading?.stop();
  await audit?.flush();
  if (lost && child !== null)
    log.info("the server ended", child.signal === null ? { code: child.code } : { signal: child.signal });
  if (lost) await errors.error({ message: "Lost connection to upstream MCP", remedy: "Shutting down proxy" });
  return code;
}

/** Whether stderr is a terminal and the log settings allow informational text. */
function wantsPaste({ log: { level, format } }: Settings): boolean {
  return process.stderr.isTTY && format !== "json" && (level === null || level === "info" || level === "debug");
}

async function describePaste(parsed: Parsed, { auth }: Settings, url: string): Promise<string> {
  const { composePaste } = await import("./paste.ts");
  const asksForToken = auth !== null && auth.kind !== "open";
  const hosts = parsed.values.get("allow-host") ?? [];
  return composePaste({ url, hosts, asksForToken }, createPaint(process.stderr, process.env));
}

/** What is audited, and whether a message may pass if it cannot be audited. */
interface Auditing {
  readonly fields: ReadonlySet<AuditField> | undefined;
  readonly classes: ReadonlySet<Class>;
  readonly mustAudit: boolean;
}

function readAuditing({ audit }: Settings): Auditing {
  const { fields = null, classes = null } = audit?.include ?? {};
  const byLevel: readonly Class[] = audit?.level === "all" ? ["pass", "log", "review"] : ["log", "review"];
  return {
    fields: fields === null ? undefined : new Set(fields),
    classes: new Set(classes ?? byLevel),
    mustAudit: audit?.onError === "block",
  };
}

/**
 * Writes events to the audit log. If messages must not pass without an audit record, it throws when the record cannot
 * be written.
 */
function auditor(audit: AuditLog, { classes, mustAudit }: Auditing): (event: AuditEvent) => void {
  return (event) => {
    // Decisions of rules, notes and refused logins are recorded whatever their class.
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

/** Opens the audit log, if the settings have one. It is closed on every kind of exit. */
async function openAuditLog(settings: Settings, { fields }: Auditing, log: Log): Promise<AuditLog | null> {
  if (settings.audit === null) return null;
  const { openAudit } = await import("../record/audit/audit-log.ts");
  const audit = openAudit({ file: settings.audit.file, fields, warn: (text) => log.warn(text) });
  process.on("exit", () => audit.close());
  return audit;
}

/** Makes sure that no server process survives the proxy, however the proxy ends. */
function guard(proxy: Proxy, log: Log, reloading: Reloading | null): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => proxy.stop());
  // On SIGHUP a service reloads its policy, and a proxy on stdio ends with its terminal.
  process.on("SIGHUP", () => (reloading === null ? proxy.stop() : reloading.reload()));
  const crash = (error: unknown): void => {
    log.error(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(1); // the exit handler below ends the server
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  process.on("exit", () => proxy.abandon());
}
