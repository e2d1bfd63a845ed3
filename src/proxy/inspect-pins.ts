import { ProxyError } from "../errors.ts";
import { showText } from "../message/text.ts";
import { acceptAll, acceptSome, comparePins, type Definition, type PinBook, type PinnedTool } from "../policy/pins.ts";
import { openLockFile } from "../record/pins/lock-file.ts";
import type { Catalogue } from "../session/catalogue.ts";
import { nameServer, type ServerPlace } from "./server-name.ts";

/** How a list of tools compares with a lock file. */
export interface PinReport {
  readonly file: string;
  /** The server's name in the file. */
  readonly server: string;
  /** Whether the file has pins for this server. */
  readonly isKnown: boolean;
  /** The names that were accepted just now; null if that was not requested. */
  readonly accepted: readonly string[] | null;
  /** Names that are pinned but not listed. */
  readonly gone: readonly string[];
}

/** A lock file, to compare with a list of tools. */
export interface PinInspection {
  readonly book: PinBook;
  /** Pins the tools of these lists, one list for each era. Throws a ProxyError for an unknown name. */
  accept(lists: readonly Catalogue[], names: "all" | readonly string[]): Promise<void>;
  compare(tools: readonly Definition[]): {
    readonly report: PinReport;
    find(name: string): PinnedTool | undefined;
  };
}

/** Opens a lock file for inspection. Throws a ProxyError if it is damaged. */
export function openPinInspection(file: string, place: ServerPlace): PinInspection {
  const lock = openLockFile(file);
  const server = nameServer(place);
  let pins = lock.read(server);
  let accepted: string[] | null = null;
  return {
    book: {
      version: 0,
      get pins() {
        return pins;
      },
      onChange: "hide",
    },
    async accept(lists, names) {
      const all = acceptAll(...lists.map(({ tools }) => tools));
      if (names !== "all") for (const name of names) checkName(name, lists, all.has(name) || pins?.has(name) === true);
      await lock.update(server, (there) => {
        const next = names === "all" ? all : acceptSome(there ?? new Map(), all, names);
        accepted = [...next.keys()].filter((name) => there?.get(name)?.toString() !== next.get(name)?.toString());
        pins = next;
        return next;
      });
    },
    compare(tools) {
      const { tools: compared, gone } = comparePins(pins ?? new Map(), tools);
      const byName = new Map(compared.map((tool) => [tool.name, tool]));
      return {
        report: { file, server, isKnown: pins !== null, accepted, gone },
        find: (name) => (pins === null ? undefined : byName.get(name)),
      };
    },
  };
}

function checkName(name: string, lists: readonly Catalogue[], isKnown: boolean): void {
  if (isKnown) return;
  const isTwice = lists.some(({ tools }) => tools.some((tool) => tool.name === name));
  const message = `Cannot accept ${showText(name, 80)}`;
  if (isTwice) throw new ProxyError("BAD_USAGE", message, "The server lists it twice, in two versions");
  throw new ProxyError("BAD_USAGE", message, "The server has no tool of that name, and none is remembered");
}
