import { announce } from "../bridge/announce.ts";
import { CLOSED } from "../bridge/answers.ts";
import { createSeat, type Say } from "../bridge/seats.ts";
import type { Interceptor } from "../chain/interceptors/interceptor.ts";
import { startChild } from "../link/child.ts";
import type { GateOptions } from "../link/http/gate.ts";
import type { PolicySettings } from "../policy/file/settings.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Log } from "../record/log.ts";
import { type ClientSide, type Conversation, type ConversationEnd, createConversation } from "./conversation.ts";
import { createConnection, type UpstreamConnection } from "./connection.ts";
import type { ProxyConfig, SessionStatistics } from "./model.ts";
import { adopt, needsEngine, openHub, startJudging } from "./judging.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, type Limits, type Timeouts } from "./limits.ts";
import type { NameOptions } from "./names.ts";
import { checkOptions, readLog } from "./options.ts";

/** What a proxy is made of: a server, a client side, and what decides. */
export interface ProxyOptions {
  /** The server: a program and its arguments, or else `upstream`. */
  readonly command?: readonly string[];
  /** The server's URL. */
  readonly upstream?: string;
  /** Sent with every request to a server at a URL. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A PEM file with certificates to trust beside the usual ones. */
  readonly ca?: string;
  /** What happens when the server at the URL is gone: we end, or answer with errors until it is back. */
  readonly onLoss?: "exit" | "keep";
  /** Where the tokens of logins are kept; null where nobody is to log in. Without it, nobody is. */
  readonly loginDirectory?: string | null;
  /** What servers are told of our version. */
  readonly version?: string;
  /** Clients come by HTTP, here. Without it, there is one, on `client`. */
  readonly listen?: ListenSettings;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Tools to hide and refuse, and the only ones to show. Without either, lists and calls pass like all else. */
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
  /** What else is decided by name: prompts, resources. */
  readonly names?: NameOptions;
  /** Where the client is: our own stdin and stdout unless said otherwise. */
  readonly client?: ClientSide;
  /** The log for people: warnings on stderr, unless said otherwise; null for none. */
  readonly log?: Log | null;
  /** Takes what is to be audited. */
  readonly audit?: ((event: AuditEvent) => void) | null;
  readonly auditAll?: boolean;
  readonly limits?: Partial<Limits>;
  readonly timeouts?: Partial<Timeouts>;
  /**
   * What the server's answers are checked for: only that lists of tools are such, or that every result of a method of MCP is
   * what the revision says, and structured content what the tool's output schema says.
   */
  readonly validate?: "lists" | "results";
  /** Judges and counts, and acts on nothing but what cannot be read: what the policy would do. */
  readonly observe?: boolean;
  /** Interceptors of the program's own. They stand behind all that is in a policy. */
  readonly interceptors?: readonly Interceptor[];
  /** What a policy file says: its rules, its filters, and what is no option of its own. */
  readonly policy?: PolicySettings;
  /** Where that file is. */
  readonly policyFolder?: string;
}

/** Where clients come in by HTTP, and who may. */
export interface ListenSettings {
  readonly port: number;
  /** This machine only, unless said otherwise. */
  readonly host?: string;
  /** PEM texts, for https. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Names we go by beside those we know of, and origins of pages that may speak to us. */
  readonly hosts?: readonly string[];
  readonly origins?: readonly string[];
  /** Whom we let in: those with one of these tokens, or with one that an issuer signed. */
  readonly auth?: GateOptions;
  /**
   * The header that names the client, where a proxy before us sets it and takes away what clients send under that name.
   * Rules count and remember by it where we let nobody in ourselves.
   */
  readonly identityHeader?: string;
  /** Listens beyond this machine without asking who comes. */
  readonly insecureBind?: boolean;
}

/** A proxy at work. */
export interface Proxy {
  /** Resolves when all is over, with the exit code a command should have. */
  readonly ended: Promise<ConversationEnd>;
  /** Ends it: politely the first time, at once the second. */
  stop(): void;
  /** The last moment before we are gone: tells who waits, and ends all processes it started, synchronously. */
  abandon(): void;
  /** Takes up another policy, whole or not at all: where it cannot be followed this rejects, and the old one holds. */
  reload(policy: PolicySettings): Promise<void>;
  /** The version of the policy that holds now, as the audit log has it: a short hash of what it says. */
  readonly policyVersion: string;
  /**
   * What is counted of the sessions that rules remember. Empty where there is neither a policy nor an interceptor: then
   * nothing is counted.
   */
  sessions(): readonly SessionStatistics[];
  /** Where clients come in, where they come by HTTP. */
  readonly url: string | null;
  /** The connection to the server, as it is now. */
  readonly connection: UpstreamConnection;
  /** What it was told to do, where the server is at a URL. It is frozen, with all that is in it. */
  readonly config: ProxyConfig | null;
}

const OPTIONS = [
  "command",
  "upstream",
  "headers",
  "ca",
  "onLoss",
  "loginDirectory",
  "version",
  "listen",
  "env",
  "cwd",
  "deny",
  "allow",
  "names",
  "client",
  "log",
  "audit",
  "auditAll",
  "limits",
  "timeouts",
  "policy",
  "policyFolder",
  "observe",
  "validate",
  "interceptors",
] as const;

/** Puts a proxy between clients and a server. Resolves when the server has started, or has been found. */
export async function createProxy(options: ProxyOptions): Promise<Proxy> {
  checkOptions(options, OPTIONS);
  if (options.upstream !== undefined || options.listen !== undefined) {
    const { createHttpProxy } = await import("./http-proxy.ts");
    return createHttpProxy(options);
  }
  const log = readLog(options);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const [command, ...args] = options.command ?? [];
  const parts = { log, limits, timeouts };
  // What cannot be followed is said before anything is started.
  const judged = needsEngine(options) ? await startJudging(options, parts) : null;
  // First of all: while the server starts, the rest of us can get ready.
  const child = await startChild({
    command,
    args,
    env: options.env ?? {},
    cwd: options.cwd,
    onTrouble: (text) => log.warn(text),
  }).catch((error: unknown) => {
    judged?.engine.destroy();
    throw error;
  });
  const hub = judged?.hub ?? (await openHub(options, parts));
  const { witness, reporter } = hub;
  let conversation: Conversation;
  const say: Say = (direction, payload) =>
    (direction === "up" ? conversation.toServer : conversation.toClient).writeLine(payload);
  const { session, passage } = createSeat(hub.seats, say, { onExhausted: () => conversation.stop() });
  conversation = createConversation({
    client: options.client ?? { input: process.stdin, output: process.stdout },
    child,
    witness,
    maxMessageBytes: limits.maxMessageBytes,
    maxBufferBytes: limits.maxBufferBytes,
    graceMs: timeouts.childGrace,
    slowReaderMs: timeouts.slowReader,
  });
  const connection = createConnection({
    url: null,
    catalogues: { stateful: session.catalogue("stateful"), stateless: session.catalogue("stateless") },
    hasBegun: () => session.hasBegun(),
    filter: () => hub.rulebook.current.policy.tools,
  });
  log.debug("started", { command, pid: child.pid, session: session.id });
  let isOver = false;
  async function run(): Promise<ConversationEnd> {
    try {
      return await conversation.run(passage);
    } finally {
      isOver = true;
      connection.change("disconnected");
      reporter.end();
      witness.end();
      log.debug("counts", witness.counts());
      await judged?.engine.close();
    }
  }
  return {
    ended: run(),
    get policyVersion() {
      return hub.rulebook.current.stamp?.version ?? "";
    },
    get connection() {
      return connection.look();
    },
    url: null,
    config: null,
    reload: (policy) =>
      adopt(judged, policy, () => announce(session, (message) => conversation.toClient.writeLine(message))),
    sessions: () => judged?.engine.sessions() ?? [],
    stop: () => conversation.stop(),
    abandon() {
      judged?.engine.destroy();
      if (isOver) return;
      isOver = true;
      // Small writes to a pipe that is not full are done when write() returns.
      for (const answer of passage.giveUp("up", CLOSED)) conversation.toClient.writeLine(answer);
      child.kill();
    },
  };
}
