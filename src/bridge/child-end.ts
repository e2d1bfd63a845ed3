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

/** What a session with a child process is made of. */
export interface ChildEndOptions {
  readonly child: ChildServer;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  /** Bytes of a message that is too large after which it is given up, also where it has not ended. */
  readonly maxBufferBytes?: number | undefined;
  readonly graceMs: number;
  /** Sees the bytes of the child; null where nothing is attached. */
  readonly tap?: Tap | null;
  /** The process ended by itself. */
  readonly onEnd: () => void;
}

const ROUTED: Exchange = { ...LINES, routed: true };

/** A session with a child process that has been started. */
export function createChildEnd(options: ChildEndOptions): ServerEnd {
  const { child, listener, maxMessageBytes, maxBufferBytes, graceMs, tap = null, onEnd } = options;
  const tapped = tapPair(tap, "server", "child");
  let isOver = false;
  const toServer = createOutlet(child.stdin, () => {}, tapped?.out);
  let sent = 0; // how many messages went to the server
  let finishFeed: (() => void) | undefined;
  const fed = new Promise<void>((resolve) => {
    finishFeed = resolve;
  });

  /** Hands on what the server said. What is sent to it meanwhile is an answer of ours, which it has to read. */
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

  /** Closes its stdin and gives it a while, with all it started: the process we started may only be a wrapper. */
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
    // The last of what it said; for a client that is slow to read it, a while longer.
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

/** Starts children for sessions. The first is ready before anybody asks, which shows at once whether it can run. */
export interface Nursery {
  take(): Promise<ChildServer>;
  /** Ends the one that waits. */
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
