import { startChild } from "../link/child.ts";
import { createExcess } from "../message/gist.ts";
import type { PolicySettings } from "../config/settings.ts";
import type { Pattern } from "../policy/patterns.ts";
import { createToolFilter } from "../policy/tool-filter.ts";
import type { Log } from "../record/log/log.ts";
import { createOutlet } from "../relay/outlet.ts";
import type { PinState } from "../policy/pins.ts";
import type { Catalogue, ToolFaults } from "../session/catalogue.ts";
import type { Era } from "../message/protocol.ts";
import { LINES } from "../session/exchange.ts";
import { createLineFramer } from "../wire/lines.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from "./limits.ts";
import type { FilteredTool, ToolFilterResult } from "./model.ts";
import { listFailure } from "./list-failure.ts";
import { endPolitely, type StartProgress, waitWhileWorking } from "./patience.ts";
import { checkOptions, composeHeaders, readLog, readPatterns } from "./options.ts";
import { createOwnClient } from "../bridge/own-client.ts";
import type { PinReport } from "./inspect-pins.ts";

/** One tool of a server, and whether it is hidden. */
export interface ToolReport {
  readonly name: string;
  /** The pattern or the rule (`rule:<id>`) that hides the tool; null if it is shown. */
  readonly hiddenBy: string | null;
  /** The definition of the tool: the JSON text that the server sent. */
  readonly definition: string;
  /** The size of the definition in bytes. All of it goes into the context of the model. */
  readonly bytes: number;
  /** How the tool compares with its accepted definition; null without a lock file, or if nothing was accepted. */
  readonly pin: PinState | null;
  /** The accepted name of a tool that was renamed; otherwise null. */
  readonly formerly: string | null;
}

/** The tools of a server, and which of them are hidden. */
export interface InspectReport extends ToolFilterResult {
  readonly tools: readonly ToolReport[];
  /** Patterns that match no tool. */
  readonly unmatched: readonly string[];
  /** The entries of the list that are not valid tools. They are hidden. */
  readonly faults: ToolFaults;
  /** The comparison with the lock file; null without one. */
  readonly pins: PinReport | null;
}

/** The options of `inspectTools`. */
export interface InspectOptions {
  /** The server: a program and its arguments. Give this or `upstream`. */
  readonly command?: readonly string[];
  /** The URL of the server. */
  readonly upstream?: string;
  /** Sent with every request to a server at a URL. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The path of a PEM file with certificates to trust in addition to the usual ones. */
  readonly ca?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Patterns as for `createProxy`. */
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
  /**
   * The settings of a policy file. Its rules can hide tools, too. Its patterns apply if `deny` and `allow` are not
   * given.
   */
  readonly policy?: PolicySettings;
  /**
   * The path of the lock file with the accepted definitions. It is compared with the list, and written only with
   * `accept`.
   */
  readonly pin?: string;
  /** Accepts the current definitions and stores them in the lock file: of all tools, or of those with these names. */
  readonly accept?: "all" | readonly string[];
  /**
   * The time limit for everything. The default is ten seconds for a server at a URL. A child process has five minutes as
   * long as it, or a process that it started, is working, because it may be downloading the server first.
   */
  readonly timeoutMs?: number;
  /** How long a child process may be idle if `timeoutMs` is not given. The default is ten seconds. */
  readonly idleMs?: number;
  /** Called every second while a child process starts. */
  readonly onProgress?: (progress: StartProgress) => void;
  /** Ends the inspection early. The server still gets time to shut down; then the promise rejects. */
  readonly signal?: AbortSignal;
  /** The timeout for connecting to a server at a URL. The default is thirty seconds. */
  readonly connectTimeoutMs?: number;
  /** The client version that the server is told. */
  readonly version?: string;
  /** The log for warnings. The default writes to stderr; null means no log. */
  readonly log?: Log | null;
}

/** Starts a server, asks it for its tools, ends it, and reports which tools the filter would hide. */
export async function inspectTools(options: InspectOptions): Promise<InspectReport> {
  checkOptions(options, OPTIONS);
  const { pin, policy } = options;
  const filterOptions = {
    deny: options.deny === undefined && policy !== undefined ? policy.tools.deny : readPatterns(options, "deny"),
    allow: options.allow === undefined && policy !== undefined ? policy.tools.allow : readPatterns(options, "allow"),
  };
  // Before anything is started, because a damaged file ends the inspection.
  const lock = pin === undefined ? null : (await import("./inspect-pins.ts")).openPinInspection(pin, options);
  const catalogue = await fetchList(options, "either");
  const accept = options.accept ?? null;
  if (lock !== null && accept !== null) await lock.accept(await fetchBoth(options, catalogue), accept);
  const filter = createToolFilter({ ...filterOptions, pins: lock?.book ?? null });
  const names = catalogue.tools.map((tool) => tool.name);
  const byRule = policy === undefined ? [] : await findHiders(policy, catalogue);
  const hidden = filter.hiddenAmong(catalogue.tools).map((by, index) => by ?? byRule.at(index) ?? null);
  const shown = catalogue.tools.filter((_, index) => hidden[index] === null);
  const { unmatched } = filter.view(catalogue);
  const pinned = lock?.compare(catalogue.tools) ?? null;
  return {
    allowed: shown.map(({ raw }) => JSON.parse(raw.toString("utf8")) as FilteredTool),
    denied: names.filter((_, index) => hidden[index] !== null),
    invalidPatterns: unmatched,
    tools: catalogue.tools.map((tool, index) => ({
      name: tool.name,
      hiddenBy: hidden[index],
      definition: tool.raw.toString("utf8"),
      bytes: tool.raw.length,
      pin: pinned?.find(tool.name)?.state ?? null,
      formerly: pinned?.find(tool.name)?.formerly ?? null,
    })),
    unmatched,
    faults: catalogue.faults,
    pins: pinned?.report ?? null,
  };
}

/** The rules that hide these tools, by the names that rules have in the log. */
async function findHiders({ interceptor }: PolicySettings, { tools }: Catalogue): Promise<(string | null)[]> {
  const { findHidingRules } = await import("./hiding-rules.ts");
  return (await findHidingRules(interceptor, tools)).map((id) => (id === null ? null : `rule:${id}`));
}

function fetchList(options: InspectOptions, era: Era | "either"): Promise<Catalogue> {
  const { upstream } = options;
  return upstream === undefined ? fetchCatalogue(options, era) : fetchRemote(upstream, options, era);
}

/** The lists of both eras, if there are two: a server may describe its tools differently in each. */
async function fetchBoth(options: InspectOptions, first: Catalogue): Promise<Catalogue[]> {
  const timeoutMs = Math.min(options.timeoutMs ?? DEFAULT_TIMEOUTS.toolList, OTHER_ERA_MS);
  const others = await Promise.allSettled([fetchList({ ...options, timeoutMs }, "stateless")]);
  return [first, ...others.flatMap((other) => (other.status === "fulfilled" ? [other.value] : []))];
}

/** A server of the older era may not even answer that it does not support the newer one. */
const OTHER_ERA_MS = 3000;

/** Fetches the list from a server at a URL. */
async function fetchRemote(upstream: string, options: InspectOptions, era: Era | "either"): Promise<Catalogue> {
  const { inspectRemote } = await import("./inspect-remote.ts");
  const { timeoutMs = DEFAULT_TIMEOUTS.toolList, version = "unknown", ca = null } = options;
  const { connectTimeoutMs: connectMs = DEFAULT_TIMEOUTS.connection } = options;
  return inspectRemote({
    upstream,
    headers: composeHeaders(options.headers ?? {}),
    ca,
    connectMs,
    timeoutMs,
    version,
    era,
  });
}

const OPTIONS = [
  "command",
  "upstream",
  "headers",
  "ca",
  "env",
  "cwd",
  "deny",
  "allow",
  "policy",
  "pin",
  "accept",
  "timeoutMs",
  "idleMs",
  "onProgress",
  "signal",
  "connectTimeoutMs",
  "version",
  "log",
] as const;

async function fetchCatalogue(options: InspectOptions, era: Era | "either"): Promise<Catalogue> {
  const { version = "unknown", env = {}, cwd, signal } = options;
  const limitMs = options.timeoutMs ?? WORKING_MS;
  const idleMs = options.timeoutMs === undefined ? (options.idleMs ?? DEFAULT_TIMEOUTS.toolList) : null;
  const log = readLog(options);
  const [command, ...args] = options.command ?? [];
  const child = await startChild({ command, args, env, cwd, onTrouble: (text) => log.warn(text) });
  const onExit = (): void => child.kill();
  process.on("exit", onExit);
  const toServer = createOutlet(child.stdin, () => {}); // the end of the child process is reported instead
  const client = createOwnClient({
    send: (payload) => toServer.writeLine(payload),
    exchange: LINES,
    greetMs: limitMs,
    listMs: limitMs,
    version,
  });
  const framer = createLineFramer(DEFAULT_LIMITS.maxMessageBytes, {
    line: (bytes, start, end, ascii) => client.receive({ bytes, start, end: end - 1, ascii }),
    excess: createExcess((gist) => client.lost(gist)),
    tail: () => {},
  });
  child.stdout.on("data", (chunk: Buffer) => {
    framer.push(chunk);
    // A server that sends requests and does not read the responses has to wait.
    if (!toServer.isFull) return;
    child.stdout.pause();
    toServer.whenReady(() => child.stdout.resume());
  });
  const over = new AbortController();
  let graceMs = FAILED_GRACE_MS;
  try {
    const { onProgress } = options;
    const late = waitWhileWorking(child.measureWork(), { limitMs, idleMs, onProgress }, over.signal);
    late.catch(() => {}); // it also rejects after the inspection has ended, when nothing waits for it
    const gone = child.ended.then(({ code, signal }): never => {
      throw new Error(`the server ended with ${signal ?? `exit code ${code}`}`);
    });
    const listed = client.greet(era).then((greeting) => {
      if (!greeting.isWelcome && era !== "either") throw new Error("the server does not speak this revision");
      return client.listTools(greeting);
    });
    const catalogue = await Promise.race([listed, gone, late, interrupted(signal)]);
    graceMs = LISTED_GRACE_MS;
    return catalogue;
  } catch (cause) {
    throw listFailure(cause as Error, client.heard, limitMs);
  } finally {
    over.abort();
    await endPolitely(child, toServer, graceMs);
    process.off("exit", onExit);
  }
}

/** Rejects when the signal is aborted. */
function interrupted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new Error("interrupted"));
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** How long to wait for a server that is working. */
const WORKING_MS = 300_000;
/** How long a server has to exit: after it sent its list, and if it may be in the middle of something. */
const LISTED_GRACE_MS = 1000;
const FAILED_GRACE_MS = 5000;
