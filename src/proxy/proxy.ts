import { announce } from "../bridge/announce.ts";
import { CLOSED } from "../bridge/answers.ts";
import { createSeat, type Say } from "../bridge/seats.ts";
import { startChild } from "../link/child.ts";
import { type Conversation, type ConversationEnd, createConversation } from "./conversation.ts";
import { createConnection } from "./connection.ts";
import { adopt, type Attached, needsEngine, openHub, startJudging } from "./judging.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from "./limits.ts";
import { checkOptions, readLog } from "./options.ts";
import type { Proxy, ProxyOptions } from "./proxy-options.ts";

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
  "observers",
  "limits",
  "timeouts",
  "policy",
  "policyFolder",
  "observe",
  "validate",
  "interceptors",
] as const;

/**
 * Starts a proxy between clients and a server. Resolves when the server has started, or the server at the URL has
 * responded.
 */
export function createProxy(options: ProxyOptions): Promise<Proxy> {
  return openProxy(options);
}

/** The same, with internal parts attached that see everything. */
export async function openProxy(options: ProxyOptions, attached: Attached = {}): Promise<Proxy> {
  checkOptions(options, OPTIONS);
  if (options.upstream !== undefined || options.listen !== undefined) {
    const { createHttpProxy } = await import("./http-proxy.ts");
    return createHttpProxy(options, attached);
  }
  const log = readLog(options);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const [command, ...args] = options.command ?? [];
  const parts = { log, limits, timeouts, attached };
  // Problems with the policy are reported before anything is started.
  const judged = needsEngine(options) ? await startJudging(options, parts) : null;
  // Started first, so that the rest gets ready while the server starts.
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
  witness.opened(session);
  conversation = createConversation({
    client: options.client ?? { input: process.stdin, output: process.stdout },
    child,
    witness,
    maxMessageBytes: limits.maxMessageBytes,
    maxBufferBytes: limits.maxBufferBytes,
    graceMs: timeouts.childGrace,
    slowReaderMs: timeouts.slowReader,
    tap: hub.tap,
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
      // Small writes to a pipe that is not full are complete when write() returns.
      for (const answer of passage.giveUp("up", CLOSED)) conversation.toClient.writeLine(answer);
      child.kill();
    },
  };
}
