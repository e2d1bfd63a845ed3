import { type Stats, statSync, unwatchFile, watchFile } from "node:fs";
import type { ProxyError } from "../errors.ts";
import type { PolicySettings } from "../config/settings.ts";
import type { Proxy } from "../proxy/proxy-options.ts";
import type { Log } from "../record/log/log.ts";
import type { Command, Parsed } from "./command-line.ts";
import { readConfig } from "./config.ts";

/** Reloads the policy file of a running proxy when it changes. */
export interface Reloading {
  /** Reads the file again now. */
  reload(): void;
  stop(): void;
}

/** How often the file is checked. It is checked by path, because editors and mounts replace the file by another one. */
const LOOK_MS = 500;

/** How many lines about mistakes are logged. */
const MAX_LINES = 100;

/** Identifies the version of a file that was read. */
export type FileVersion = Pick<Stats, "mtimeMs" | "size" | "ino">;

/** The version of the file of `--config`. Call it before the file is read. Null if the file does not exist. */
export function configVersion(given: Parsed): FileVersion | null {
  try {
    const stats = statSync(given.values.get("config")?.[0] ?? "");
    return stats.isFile() ? stats : null;
  } catch {
    return null; // the code that reads the file reports the error
  }
}

/** A running proxy, and the policy with which it was started. */
export interface WatchOptions {
  readonly given: Parsed;
  readonly command: Command;
  readonly proxy: Proxy;
  readonly log: Log;
  readonly started: { readonly settings: PolicySettings | null; readonly version: FileVersion | null };
}

/**
 * Watches the file of `--config`. If the new version has mistakes, they are logged and the last valid policy stays
 * active.
 */
export function watchConfig({ given, command, proxy, log, started }: WatchOptions): Reloading {
  const file = given.values.get("config")?.[0] ?? "";
  let last = started.settings;
  let work = Promise.resolve();
  let gone: NodeJS.Timeout | undefined;

  async function adopt(): Promise<void> {
    try {
      const { policy, warnings } = await readConfig(given, command, process.env);
      const { policy: settings } = policy;
      if (settings === undefined) return;
      await proxy.reload(settings);
      for (const text of warnings) log.warn(text);
      for (const key of last === null ? [] : lasting(last, settings))
        log.warn(`${key} in ${file} has changed: this takes effect after a restart`);
      last = settings;
      log.info("policy reloaded", { file, rules: settings.interceptor.rules.length, policy: proxy.policyVersion });
    } catch (error) {
      const { message, remedy } = error as Partial<ProxyError>;
      // One log line for each line of `check`, because a single line would be unreadable.
      const [first, ...rest] = (message ?? String(error)).split("\n").filter((line) => line.trim() !== "");
      log.error(`policy not reloaded, the previous policy stays in effect: ${first}`, { file });
      for (const line of rest.slice(0, MAX_LINES)) log.error(line);
      if (rest.length > MAX_LINES) log.error(`and more: run fairlead check ${file}`);
      if (rest.length === 0 && remedy !== undefined) log.error(remedy);
    }
  }

  // Reloads run one after another, so that the version read last is the active one.
  const reload = (): void => {
    work = work.then(adopt);
  };
  const tellGone = (): void => log.warn("the policy file is gone, the previous policy stays in effect", { file });
  // Catch changes during the start, which may take long: `watchFile` compares only with the state at its first check.
  const missed = setTimeout(() => {
    if (started.version === null) return;
    const now = configVersion(given);
    if (now === null) tellGone();
    else if (!isSame(now, started.version)) reload();
  }, LOOK_MS).unref();
  watchFile(file, { interval: LOOK_MS, persistent: false }, (now, before) => {
    if (isSame(now, before)) return;
    clearTimeout(missed);
    clearTimeout(gone);
    if (now.nlink > 0) return reload();
    // Editors remove a file for a moment before they replace it.
    gone = setTimeout(tellGone, 2 * LOOK_MS).unref();
  });
  return {
    reload,
    stop() {
      clearTimeout(missed);
      clearTimeout(gone);
      unwatchFile(file);
    },
  };
}

function isSame(one: FileVersion, other: FileVersion): boolean {
  return one.mtimeMs === other.mtimeMs && one.size === other.size && one.ino === other.ino;
}

/** The settings that have changed but take effect only at the next start. */
function lasting(before: PolicySettings, now: PolicySettings): string[] {
  const pin = show(before.tools.pin) === show(now.tools.pin) ? [] : ["tools.pin"];
  return [...LASTING.filter((key) => show(before[key]) !== show(now[key])), ...pin];
}

const LASTING = ["upstream", "listen", "limits", "timeouts", "audit", "auth", "log", "state"] as const;

function show(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (each instanceof Map ? [...each] : each));
}
