import type { PinSettings } from "../config/settings.ts";
import { acceptAll, comparePins, type PinBook, type PinnedTool, type Pins } from "../policy/pins.ts";
import { type LockFile, openLockFile } from "../record/pins/lock-file.ts";
import type { Log } from "../record/log/log.ts";
import type { Reporter } from "../record/log/report.ts";
import type { Catalogue } from "../session/catalogue.ts";
import { nameServer, type ServerPlace } from "./server-name.ts";

/** The pins of one server's tools, kept up to date. */
export interface PinKeeper extends PinBook {
  /** Takes a complete list: the first one is pinned, later ones are compared with it. */
  learnt(catalogue: Catalogue, reporter: Reporter): void;
}

/** Options of a pin keeper. */
export interface PinKeeperOptions {
  readonly log: Log;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
}

/** Opens the lock file of a server. Throws a ProxyError if it is damaged, because then nothing in it can be trusted. */
export function openPins(settings: PinSettings, server: ServerPlace, options: PinKeeperOptions): PinKeeper {
  return createPinKeeper(openLockFile(settings.file), nameServer(server), settings, options);
}

/** How often to check whether the lock file has changed. */
const LOOK_MS = 1000;

function createPinKeeper(
  lock: LockFile,
  server: string,
  { file, onChange }: PinSettings,
  { log, now }: PinKeeperOptions,
): PinKeeper {
  let stamp = lock.stamp();
  let pins = lock.read(server);
  let version = 0;
  let looked = now();
  let said = "";

  function lookAgain(): void {
    if (now() - looked >= LOOK_MS) look();
  }

  /** Reads the file again if it has changed. If it is damaged or gone, the pins stay as they are. */
  function look(): void {
    looked = now();
    const next = lock.stamp();
    if (next === stamp) return;
    stamp = next;
    try {
      const read = lock.read(server);
      if (read !== null) adopt(read);
      else if (pins !== null)
        log.warn("the lock file no longer has an entry for the server: the tools accepted before stay accepted", {
          file,
        });
    } catch (error) {
      log.error(`${(error as Error).message}: the tools accepted before stay accepted`);
    }
  }

  function adopt(read: Pins): void {
    if (JSON.stringify([...read]) === JSON.stringify([...(pins ?? [])])) return;
    pins = read;
    version++;
  }

  /** Another process may have pinned the server's tools a moment ago: then its pins apply. */
  async function remember(first: Pins): Promise<void> {
    try {
      await lock.update(server, (there) => there ?? first);
      look();
    } catch (error) {
      log.error(`${(error as Error).message}: the accepted tools are kept only until Fairlead exits`);
    }
  }

  return {
    onChange,
    get version() {
      lookAgain();
      return version;
    },
    get pins() {
      lookAgain();
      return pins;
    },
    learnt({ tools }, reporter) {
      if (pins === null) look();
      else lookAgain();
      if (pins === null) {
        pins = acceptAll(tools);
        version++;
        log.info("first connection to this server: all its tools are accepted as they are", {
          server,
          tools: pins.size,
          file,
        });
        void remember(pins);
      }
      const strange = comparePins(pins, tools).tools.filter(({ state }) => state !== "unchanged");
      const saying = JSON.stringify([strange, version]);
      if (saying === said) return; // the same list, fetched again
      said = saying;
      for (const tool of strange) {
        const formerly = tool.formerly === null ? {} : { formerly: tool.formerly };
        reporter.report("tools:pin", describe(tool, onChange), { fields: { tool: tool.name, ...formerly } });
      }
    },
  };
}

function describe({ state }: PinnedTool, onChange: "hide" | "flag"): string {
  const what =
    state === "changed" ? "a tool has changed" : state === "renamed" ? "a tool was renamed" : "a tool is new";
  const then = onChange === "hide" ? "it is hidden until you accept it with" : "look at it, and accept it with";
  return `${what}: ${then} "fairlead tools --accept"`;
}
