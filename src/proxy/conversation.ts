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
export interface ClientSide {
  readonly input: Readable;
  readonly output: Writable;
  /** Whether the parent process has ended. Asked only while messages are stuck, because then the end of `input` is not seen. */
  readonly isGone?: () => boolean;
}

/** What a conversation is made of. */
export interface ConversationOptions {
  readonly client: ClientSide;
  readonly child: ChildServer;
  readonly witness: Pick<Witness, "trouble">;
  readonly maxMessageBytes: number;
  /** Bytes of a message that is too large after which it is given up, also where it has not ended. */
  readonly maxBufferBytes?: number | undefined;
  readonly graceMs: number;
  /** Sees the bytes of both sides; null where nothing is attached. */
  readonly tap?: Tap | null;
  /** How long a client that has closed stdin may take nothing of what is left for it. */
  readonly slowReaderMs: number;
}

/** One client and one child, from the first byte until nothing of either is left. */
export interface Conversation {
  /** The ends that messages of our own leave by. */
  readonly toServer: Outlet;
  readonly toClient: Outlet;
  /** Lets messages flow. Resolves with the exit code when all is over. */
  run(passage: Passage): Promise<ConversationEnd>;
  /** Ends it: politely the first time, at once the second. */
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

/** Joins a client and a child. */
export function createConversation(options: ConversationOptions): Conversation {
  const { client, child, witness, maxMessageBytes, maxBufferBytes, graceMs, slowReaderMs, tap = null } = options;
  const tapped = { client: tapPair(tap, "client", "stdio"), child: tapPair(tap, "server", "child") };
  let isClosed = false; // the client has said all it had to say
  let isBroken = false; // the client does not listen any more
  let isStopped = false; // we were told to end
  let isKilled = false; // the child did not end by itself
  let isMute = false; // the server lives, but cannot hear or be heard
  let isWinding = false; // the child has been told to end
  const patience = createLatch(); // opens when we may wait for nobody any longer
  const onBroken = (): void => {
    isBroken = true;
    wind();
  };
  const toClient = createOutlet(client.output, onBroken, tapped.client?.out);
  const toServer = createOutlet(child.stdin, () => void lose(), tapped.child?.out);

  /** Closes the child's stdin and gives it a while. */
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

  /** A server whose stdin or stdout is gone. Mostly because it ended; if not, it is of no use to anyone. */
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
    // The grace is for the whole group: the process we started may only have been a wrapper.
    if (isClosed || isStopped) await until(() => !child.hasCompany || isKilled, graceMs);
    await Promise.race([down, delay(LEFTOVER_MS)]);
    // What it started may still run, and hold its stdout open.
    child.kill();
    await Promise.race([down, silence(child.stdout, toClient), patience.opened]);
    // What the client has written already is read, so that it is answered too.
    if (isLost) await Promise.race([quiet(client.input), delay(QUIET_LIMIT_MS)]);
    for (const answer of passage.giveUp("up", CLOSED)) toClient.writeLine(answer);
    await nextTurn(); // what was refused of a batch leaves when nothing of the batch is held any more
    await Promise.race([flushed(client.output, toClient), patience.opened]);
    await Promise.race([child.complained, delay(FLUSH_MS)]);
    clearInterval(orphaned);
    child.release();
    tapped.client?.end();
    tapped.child?.end();
    return { code: isStopped || isBroken ? 1 : code, lost: isLost || isMute, child: end };
  }

  /** Notices that the client is gone although its messages, and the end behind them, are stuck. */
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

/** How long the last of a child's output may take once the child is gone, or the news that it is. */
const LEFTOVER_MS = 300;
/** How long those we speak to last may take to read it. */
const FLUSH_MS = 2000;
/** How long we read on, at the most, for requests that were under way when the server went. */
const QUIET_LIMIT_MS = 1000;
const ORPHAN_CHECK_MS = 1000;

/** Resolves when nothing more comes and it is not the client who holds it up. */
async function silence(source: Readable, outlet: Outlet): Promise<void> {
  for (let read = -1; ;) {
    const now = bytesRead(source);
    if (now === read && !outlet.isFull) return;
    read = now;
    await delay(500);
  }
}

/** Resolves when nothing has come for a moment. */
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
