import { unwatchFile, watchFile } from "node:fs";
import type { PolicySettings } from "../policy/file/settings.ts";
import type { Proxy } from "../proxy/proxy.ts";
import type { Log } from "../record/log.ts";
import type { Command } from "./commands.ts";
import { readConfig } from "./config.ts";
import type { Parsed } from "./options.ts";

/** Keeps a proxy to what its policy file says. */
export interface Reloading {
  /** Reads the file again now. */
  reload(): void;
  stop(): void;
}

/** How often the file is looked at. By its path: editors, and those who mount it, put another one in its place. */
const LOOK_MS = 500;

/** Watches the file that --config names. What is wrong with it is said, and the last policy that was right holds. */
export function watchConfig(given: Parsed, command: Command, proxy: Proxy, log: Log): Reloading {
  const file = given.values.get("config")?.[0] ?? "";
  let last: PolicySettings | null = null;
  let work = Promise.resolve();

  async function adopt(): Promise<void> {
    try {
      const { policy, warnings } = await readConfig(given, command, process.env);
      const { policy: settings } = policy;
      if (settings === undefined) return;
      await proxy.reload(settings);
      for (const text of warnings) log.warn(text);
      for (const key of last === null ? [] : lasting(last, settings))
        log.warn(`${key} in ${file} has changed: that takes effect with the next start`);
      last = settings;
      log.info("policy reloaded", { file, rules: settings.interceptor.rules.length, policy: proxy.policyVersion });
    } catch (error) {
      const { message } = error as Error;
      log.error(`policy not reloaded, the last one holds: ${message.replaceAll("\n", "\n  ")}`, { file });
    }
  }

  // One after the other: the last one that is read is the one that holds.
  const reload = (): void => {
    work = work.then(adopt);
  };
  void readConfig(given, command, process.env).then(
    ({ policy }) => (last ??= policy.policy ?? null),
    () => {},
  );
  watchFile(file, { interval: LOOK_MS, persistent: false }, (now, before) => {
    if (now.mtimeMs === before.mtimeMs && now.size === before.size && now.ino === before.ino) return;
    if (now.nlink === 0) return; // gone for a moment, or for good
    reload();
  });
  return { reload, stop: () => unwatchFile(file) };
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
