import { setTimeout as delay } from "node:timers/promises";
import { type ChildOptions, type ChildServer, startChild } from "../link/child.ts";
import { flatten } from "../message/flatten.ts";
import { createExcess } from "../message/gist.ts";
import { whole } from "../message/message.ts";
import { createFeed } from "../relay/feed.ts";
import { createOutlet } from "../relay/outlet.ts";
import { tapPair } from "../relay/tapped.ts";
import { LINES, type Exchange } from "../session/exchange.ts";
import { isBlank, type LineSink } from "../wire/lines.ts";
import type { Tap } from "../wire/tap.ts";
import type { ServerEnd, ServerListener } from "./server-end.ts";

/** Options of a session with a child process. */
export interface ChildEndOptions {
  readonly child: ChildServer;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  /** The proxy stops reading a message that is too large after this many bytes, even if the message has not ended. */
  readonly maxBufferBytes?: number | undefined;
  readonly graceMs: number;
  /** Receives a copy of the child's bytes; null if nothing is attached. */
  readonly tap?: Tap | null;
  /** Called when the process ended by itself. */
  readonly onEnd: () => void;
}

const ROUTED: Exchange = { ...LINES, routed: true };

/** Makes a session with a child process that is already running. */
export function createChildEnd(options: ChildEndOptions): ServerEnd {
  const { child, listener, maxMessageBytes, maxBufferBytes, graceMs, tap = null, onEnd } = options;
  const tapped = tapPair(tap, "server", "child");
  let isOver = false;
  const toServer = createOutlet(child.stdin, () => {}, tapped?.out);
  let sent = 0; // number of messages sent to the server
  let finishFeed: (() => void) | undefined;
  const fed = new Promise<void>((resolve) => {
    finishFeed = resolve;
  });

  /**
   * Hands a message of the server to the listener. Anything sent to the server meanwhile is a response that it has to
   * read.
   */
  function hand(tell: () => void): void {
    const before = sent;
    tell();
    feed.left("onward");
    if (sent > before) feed.left("back");
  }

  const sink: LineSink = {
    line(bytes, start, end, ascii) {
      if (isBlank(bytes, start, end)) return;
      hand(() => listener.message({ bytes, start, end: end - 1, ascii }, ROUTED));
    },
    excess: createExcess((gist, bytes) => hand(() => listener.lost(gist, bytes, ROUTED)), maxBufferBytes),
    tail: () => {},
  };
  const feed = createFeed({
    source: child.stdout,
    maxMessageBytes,
    sink,
    onward: listener,
    back: toServer,
    tapped: tapped?.in,
    onEnd: () => finishFeed?.(),
  });

  /**
   * Closes stdin and waits until the process and everything it started have exited, or until the grace period ends. The
   * process that the proxy started may only be a wrapper.
   */
  async function finish(): Promise<void> {
    const until = Date.now() + graceMs;
    toServer.end();
    await Promise.race([child.ended, delay(graceMs, undefined, { ref: false })]);
    while (child.hasCompany && Date.now() < until) await delay(20);
    release();
  }

  function release(): void {
    child.kill();
    child.release();
    tapped?.end();
  }

  void child.ended.then(async () => {
    if (isOver) return;
    isOver = true;
    // Wait for the rest of the child's output; longer if the client is slow to read it.
    await Promise.race([fed, delay(LEFTOVER_MS)]);
    if (listener.isFull) await Promise.race([fed, delay(graceMs, undefined, { ref: false })]);
    onEnd();
    release();
  });

  return {
    send(payload) {
      if (isOver) return;
      toServer.joinLine(flatten(whole(payload)));
      sent++;
    },
    get isFull() {
      return toServer.isFull;
    },
    whenReady: (resume) => toServer.whenReady(resume),
    close() {
      isOver = true;
      return finish();
    },
    destroy() {
      isOver = true;
      release();
    },
  };
}

const LEFTOVER_MS = 50;

/**
 * Starts child processes for sessions. The first is started in advance, which shows at once whether the command can
 * run.
 */
export interface Nursery {
  take(): Promise<ChildServer>;
  /** Ends the child process that was started in advance. */
  close(): void;
}

/** Starts the first child. Rejects with a ProxyError when the command cannot run. */
export async function openNursery(options: ChildOptions): Promise<Nursery> {
  let spare: ChildServer | null = await startChild(options);
  watch(spare);

  function watch(child: ChildServer): void {
    void child.ended.then(() => {
      if (spare !== child) return;
      spare = null;
      child.kill();
      child.release();
    });
  }

  return {
    async take() {
      const child = spare ?? (await startChild(options));
      spare = null;
      return child;
    },
    close() {
      spare?.kill();
      spare?.release();
      spare = null;
    },
  };
}
