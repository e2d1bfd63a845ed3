import type { Readable, Writable } from "node:stream";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { CLOSED } from "../bridge/answers.ts";
import type { ChildEnd, ChildServer } from "../link/child.ts";
import type { Witness } from "../record/witness.ts";
import { createOutlet, type Outlet, whenStuck } from "../relay/outlet.ts";
import type { Passage } from "../relay/passage.ts";
import { pump } from "../relay/pump.ts";
import { tapPair } from "../relay/tapped.ts";
import { LINES } from "../session/exchange.ts";
import type { Tap } from "../wire/tap.ts";

/** The two streams of a client that does not use HTTP. */
export interface ClientStreams {
  readonly input: Readable;
  readonly output: Writable;
  /**
   * Whether the parent process has ended. Asked only while messages are stuck, because then the end of `input` is not
   * seen.
   */
  readonly isGone?: () => boolean;
}

/** Options of a conversation. */
export interface ConversationOptions {
  readonly client: ClientStreams;
  readonly child: ChildServer;
  readonly witness: Pick<Witness, "trouble">;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  readonly graceMs: number;
  /** Receives a copy of the bytes of both sides; null if nothing is attached. */
  readonly tap?: Tap | null;
  /** How long a client that has closed stdin may go without reading any of the remaining output. */
  readonly slowReaderMs: number;
}

/** One client and one child process, from the first byte until both have ended. */
export interface Conversation {
  /** The outputs for messages that the proxy composes. */
  readonly toServer: Outlet;
  readonly toClient: Outlet;
  /** Starts forwarding messages. Resolves with the exit code at the end. */
  run(passage: Passage): Promise<ConversationEnd>;
  /** Ends it: the first call lets the server shut down, a second call kills it. */
  stop(): void;
}

/** How a proxy ended. */
export interface ConversationEnd {
  /** The exit code that a command should have. */
  readonly code: number;
  /** Whether the server ended or could not be reached while the client was still connected. */
  readonly lost: boolean;
  /** How the server's process ended; null for a server at a URL, and if each session has its own process. */
  readonly child: ChildEnd | null;
}

/** Connects a client and a child process. */
export function createConversation(options: ConversationOptions): Conversation {
  const { client, child, witness, maxMessageBytes, maxBufferBytes, graceMs, slowReaderMs, tap = null } = options;
  const tapped = { client: tapPair(tap, "client", "stdio"), child: tapPair(tap, "server", "child") };
  let isClosed = false; // the client has closed its input
  let isBroken = false; // the client does not read any more
  let isStopped = false; // stop() was called
  let isKilled = false; // the child process did not exit by itself
  let isMute = false; // the server is running, but its stdin or stdout is closed
  let isWinding = false; // the child process's stdin was closed
  const patience = createLatch(); // opens when nothing may be waited for any longer
  const onBroken = (): void => {
    isBroken = true;
    wind();
  };
  const toClient = createOutlet(client.output, onBroken, tapped.client?.out);
  const toServer = createOutlet(child.stdin, () => void lose(), tapped.child?.out);

  /** Closes the child's stdin, and kills it after the grace period. */
  function wind(): void {
    if (isWinding) return;
    isWinding = true;
    toServer.end();
    setTimeout(kill, graceMs).unref();
  }

  function kill(): void {
    isKilled = true;
    child.kill();
  }

  /** Handles a server whose stdin or stdout is closed. Usually it has exited; if not, it cannot be used any more. */
  async function lose(): Promise<void> {
    await Promise.race([child.ended, delay(LEFTOVER_MS, undefined, { ref: false })]);
    if (isClosed || isBroken || isStopped || isWinding) return;
    isMute = true;
    child.terminate();
    wind();
  }

  async function run(passage: Passage): Promise<ConversationEnd> {
    const shared = { passage, exchange: LINES, witness, maxMessageBytes, maxBufferBytes };
    const fromClient = { source: client.input, onward: toServer, back: toClient, tapped: tapped.client?.in };
    const fromServer = { source: child.stdout, onward: toClient, back: toServer, tapped: tapped.child?.in };
    const up = pump({ direction: "up", ...fromClient }, shared);
    const down = pump({ direction: "down", ...fromServer }, shared);
    void up.then(() => {
      isClosed = !isStopped;
      wind();
      whenStuck(client.output, slowReaderMs, patience.open);
    });
    void down.then(lose);
    const orphaned = setInterval(watchClient(), ORPHAN_CHECK_MS).unref();

    const end = await child.ended;
    const isLost = !isClosed && !isBroken && !isStopped;
    const code = exitCode(end);
    // The grace period applies to the whole process group: the process that was started may only have been a wrapper.
    if (isClosed || isStopped) await until(() => !child.hasCompany || isKilled, graceMs);
    await Promise.race([down, delay(LEFTOVER_MS)]);
    // Processes that it started may still run and hold its stdout open.
    child.kill();
    await Promise.race([down, silence(child.stdout, toClient), patience.opened]);
    // Read what the client has written already, so that these requests are answered too.
    if (isLost) await Promise.race([quiet(client.input), delay(QUIET_LIMIT_MS)]);
    for (const answer of passage.giveUp("up", CLOSED)) toClient.writeLine(answer);
    await nextTurn(); // the refused part of a batch is sent when no message of the batch is held any more
    await Promise.race([flushed(client.output, toClient), patience.opened]);
    await Promise.race([child.complained, delay(FLUSH_MS)]);
    clearInterval(orphaned);
    child.release();
    tapped.client?.end();
    tapped.child?.end();
    return { code: isStopped || isBroken ? 1 : code, lost: isLost || isMute, child: end };
  }

  /** Notices that the client is gone although its messages, and the end of its input after them, are not read. */
  function watchClient(): () => void {
    let stuckSince = 0;
    return () => {
      if (!toServer.isFull || client.isGone?.() !== true) stuckSince = 0;
      else if (stuckSince === 0) stuckSince = Date.now();
      else if (Date.now() - stuckSince >= graceMs) kill();
    };
  }

  function exitCode({ code, signal }: ChildEnd): number {
    if (isStopped || isBroken || isMute) return 1;
    if (isKilled) return 0;
    if (code !== null && code !== 0) return code;
    return signal === null && isClosed ? 0 : 1;
  }

  return {
    toServer,
    toClient,
    run,
    stop() {
      setTimeout(patience.open, isStopped ? LEFTOVER_MS : graceMs + FLUSH_MS).unref();
      if (isStopped) return kill();
      isStopped = true;
      child.terminate();
      wind();
    },
  };
}

/** How long to wait for the rest of a child's output after it has ended, or for the news that it has ended. */
const LEFTOVER_MS = 300;
/** How long the last output may take to be written. */
const FLUSH_MS = 2000;
/** How long to keep reading, at most, for requests that were in transit when the server ended. */
const QUIET_LIMIT_MS = 1000;
const ORPHAN_CHECK_MS = 1000;

/** Resolves when the source sends nothing more and the outlet is not full. */
async function silence(source: Readable, outlet: Outlet): Promise<void> {
  for (let read = -1; ;) {
    const now = bytesRead(source);
    if (now === read && !outlet.isFull) return;
    read = now;
    await delay(500);
  }
}

/** Resolves when the source has sent nothing for a moment. */
async function quiet(source: Readable): Promise<void> {
  for (let read = -1; read !== bytesRead(source);) {
    read = bytesRead(source);
    await delay(20);
  }
}

function bytesRead(source: Readable): number {
  return (source as { bytesRead?: number }).bytesRead ?? 0;
}

async function until(isTrue: () => boolean, limitMs: number): Promise<void> {
  for (const end = Date.now() + limitMs; !isTrue() && Date.now() < end;) await delay(20);
}

async function flushed(stream: Writable, outlet: Outlet): Promise<void> {
  if (outlet.isClosed) return;
  await new Promise<void>((resolve) => {
    stream.once("close", resolve);
    stream.once("error", () => resolve());
    stream.end(resolve);
  });
}

function createLatch(): { readonly opened: Promise<void>; open(): void } {
  let release: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { opened, open: () => release?.() };
}
