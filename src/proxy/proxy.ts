import { performance } from "node:perf_hooks";
import { startChild } from "../link/child.ts";
import type { Direction } from "../message/message.ts";
import type { Policy } from "../policy/judge.ts";
import type { Pattern } from "../policy/patterns.ts";
import { createToolFilter } from "../policy/tool-filter.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Log } from "../record/log.ts";
import { createReporter, type Reporter } from "../record/report.ts";
import { createWitness } from "../record/witness.ts";
import { createLearner } from "../relay/learn.ts";
import { createPassage } from "../relay/passage.ts";
import type { Catalogue } from "../session/catalogue.ts";
import { createSession } from "../session/session.ts";
import {
  type ClientSide,
  type Conversation,
  type ConversationEnd,
  createConversation,
  CLOSED,
} from "./conversation.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, type Limits, type Timeouts } from "./limits.ts";
import { checkOptions, readLog, readPatterns } from "./options.ts";

/** What a proxy in front of a child process is made of. */
export interface ProxyOptions {
  /** The server: a program and its arguments. */
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Tools to hide and refuse, and the only ones to show. Without either, lists and calls pass like all else. */
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
  /** Where the client is: our own stdin and stdout unless said otherwise. */
  readonly client?: ClientSide;
  /** The log for people: warnings on stderr, unless said otherwise; null for none. */
  readonly log?: Log | null;
  /** Takes what is to be audited. */
  readonly audit?: ((event: AuditEvent) => void) | null;
  readonly auditAll?: boolean;
  readonly limits?: Partial<Limits>;
  readonly timeouts?: Partial<Timeouts>;
}

/** A proxy at work. */
export interface Proxy {
  /** Resolves when all is over, with the exit code a command should have. */
  readonly ended: Promise<ConversationEnd>;
  /** Ends it: politely the first time, at once the second. */
  stop(): void;
  /** The last moment before we are gone: tells who waits, and ends all processes it started, synchronously. */
  abandon(): void;
}

/** Says what the filter makes of a list, and which patterns it could do without. */
function createToolReport({ tools: filter }: Policy, { report }: Reporter): (catalogue: Catalogue) => void {
  let said = "";
  return (catalogue) => {
    if (filter === null) return;
    const { allowed, hidden, unmatched } = filter.view(catalogue);
    const counts = { tools: catalogue.tools.length, hidden: hidden.length };
    const saying = JSON.stringify([[...allowed], hidden, unmatched]);
    if (saying === said) return; // the same list in another era, or fetched again
    said = saying;
    report("tools:list", "tool list", { level: "info", fields: counts });
    for (const pattern of unmatched) report("tools:unmatched", "pattern matches no tool", { fields: { pattern } });
  };
}

const now = (): number => performance.now();

const OPTIONS = [
  "command",
  "env",
  "cwd",
  "deny",
  "allow",
  "client",
  "log",
  "audit",
  "auditAll",
  "limits",
  "timeouts",
] as const;

/** Puts a proxy between a client and a server that is a child process. Resolves when the server has started. */
export async function createProxy(options: ProxyOptions): Promise<Proxy> {
  checkOptions(options, OPTIONS);
  const deny = readPatterns(options, "deny");
  const allow = readPatterns(options, "allow");
  const log = readLog(options);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const [command, ...args] = options.command;
  // First of all: while the server starts, the rest of us can get ready.
  const child = await startChild({
    command,
    args,
    env: options.env ?? {},
    cwd: options.cwd,
    onTrouble: (text) => log.warn(text),
  });
  const reporter = createReporter(log, now);
  const isFiltering = deny.length > 0 || allow.length > 0;
  const policy: Policy = {
    tools: isFiltering
      ? createToolFilter({
          deny,
          allow,
          onHang: (pattern) => log.error(`pattern stopped: it did not end on a name of the server's`, { pattern }),
        })
      : null,
  };
  let conversation: Conversation;
  const say = (direction: Direction, payload: Buffer): void =>
    (direction === "up" ? conversation.toServer : conversation.toClient).writeLine(payload);
  const session = createSession({
    maxOpenCalls: limits.maxOpenCalls,
    learnTools: isFiltering,
    onLearnt: createToolReport(policy, reporter),
    say,
    now,
  });
  const witness = createWitness({
    reporter,
    audit: options.audit ?? null,
    auditAll: options.auditAll ?? false,
    session: session.id,
    time: Date.now,
    now,
  });
  const learner = createLearner({ session, timeoutMs: timeouts.toolList });
  const passage = createPassage({ session, policy, learner, witness, maxParkedBytes: limits.maxParkedBytes });
  conversation = createConversation({
    client: options.client ?? { input: process.stdin, output: process.stdout },
    child,
    witness,
    maxMessageBytes: limits.maxMessageBytes,
    graceMs: timeouts.childGrace,
  });
  log.debug("started", { command, pid: child.pid, session: session.id });
  let isOver = false;
  const ended = conversation.run(passage).finally(() => {
    isOver = true;
    reporter.end();
    log.debug("counts", witness.counts());
  });
  return {
    ended,
    stop: () => conversation.stop(),
    abandon() {
      if (isOver) return;
      isOver = true;
      // Small writes to a pipe that is not full are done when write() returns.
      for (const answer of passage.giveUp("up", CLOSED)) conversation.toClient.writeLine(answer);
      child.kill();
    },
  };
}
