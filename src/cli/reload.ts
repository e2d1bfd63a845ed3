import { type Stats, statSync, unwatchFile, watchFile } from "node:fs";
import type { ProxyError } from "../errors.ts";
import type { PolicySettings } from "../config/settings.ts";
import type { Proxy } from "../proxy/proxy-options.ts";
import type { Log } from "../record/log/log.ts";
import type { Command, Parsed } from "./command-line.ts";
import { readConfig } from "./config.ts";

/** Keeps a proxy to what its policy file says. */
export interface Reloading {
  /** Reads the file again now. */
  reload(): void;
  stop(): void;
}

/** How often the file is looked at. By its path: editors, and those who mount it, put another one in its place. */
const LOOK_MS = 500;

/** So many lines about mistakes are logged. */
const MAX_LINES = 100;

/** Which version of a file was read. */
export type FileVersion = Pick<Stats, "mtimeMs" | "size" | "ino">;

/** The version of the file that --config names, to be asked for before the file is read. Null where there is none. */
export function configVersion(given: Parsed): FileVersion | null {
  try {
    const stats = statSync(given.values.get("config")?.[0] ?? "");
    return stats.isFile() ? stats : null;
  } catch {
    return null; // whoever reads the file says why that is not possible
  }
}

/** A proxy that runs, and the policy it was started with. */
export interface WatchOptions {
  readonly given: Parsed;
  readonly command: Command;
  readonly proxy: Proxy;
  readonly log: Log;
  readonly started: { readonly settings: PolicySettings | null; readonly version: FileVersion | null };
}

/** Watches the file that --config names. What is wrong with it is said, and the last policy that was right holds. */
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
      // Each line as `check` writes it: in one line nobody could read it.
      const [first, ...rest] = (message ?? String(error)).split("\n").filter((line) => line.trim() !== "");
      log.error(`policy not reloaded, the previous policy stays in effect: ${first}`, { file });
      for (const line of rest.slice(0, MAX_LINES)) log.error(line);
      if (rest.length > MAX_LINES) log.error(`and more: run fairlead check ${file}`);
      if (rest.length === 0 && remedy !== undefined) log.error(remedy);
    }
  }

  // One after the other: the last one that is read is the one that holds.
  const reload = (): void => {
    work = work.then(adopt);
  };
  const tellGone = (): void => log.warn("the policy file is gone, the previous policy stays in effect", { file });
  // The server may have taken long to start, and watchFile compares only with what it finds at its first look.
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
    // Editors take a file away for a moment, and put another one in its place.
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

/** What holds from the start to the end, and is different now. */
function lasting(before: PolicySettings, now: PolicySettings): string[] {
  const pin = show(before.tools.pin) === show(now.tools.pin) ? [] : ["tools.pin"];
  return [...LASTING.filter((key) => show(before[key]) !== show(now[key])), ...pin];
}

const LASTING = ["upstream", "listen", "limits", "timeouts", "audit", "auth", "log", "state"] as const;

function show(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (each instanceof Map ? [...each] : each));
}
