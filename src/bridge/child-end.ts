import { setTimeout as delay } from "node:timers/promises";
import { type ChildOptions, type ChildServer, startChild } from "../link/child.ts";
import { flatten } from "../message/flatten.ts";
import { createGistReader, type GistReader } from "../message/gist.ts";
import { composeError } from "../message/compose.ts";
import { whole } from "../message/message.ts";
import { createOutlet } from "../relay/outlet.ts";
import { LINES, type Exchange } from "../session/exchange.ts";
import { createLineFramer } from "../wire/lines.ts";
import type { ServerEnd, ServerListener } from "./server-end.ts";

/** What a session with a child process is made of. */
export interface ChildEndOptions {
  readonly child: ChildServer;
  readonly listener: ServerListener;
  readonly maxMessageBytes: number;
  readonly graceMs: number;
  /** The process ended by itself. */
  readonly onEnd: () => void;
}

const ROUTED: Exchange = { ...LINES, routed: true };

/** A session with a child process that has been started. */
export function createChildEnd({ child, listener, maxMessageBytes, graceMs, onEnd }: ChildEndOptions): ServerEnd {
  let isOver = false;
  const toServer = createOutlet(child.stdin, () => {});
  let gist: GistReader | null = null; // of a line that is too long to keep

  const framer = createLineFramer(maxMessageBytes, {
    line(bytes, start, end, ascii) {
      listener.message({ bytes, start, end: end - 1, ascii }, ROUTED);
    },
    excess(bytes, ends) {
      gist ??= createGistReader();
      gist.push(bytes);
      if (!ends) return;
      const { id, like } = gist.end();
      gist = null;
      listener.trouble("strict:too-large", "dropped a message of the server's that is too large");
      if (id !== null && like === "answer") listener.message(whole(composeError(id, TOO_LARGE)), ROUTED);
    },
    tail: () => {},
  });
  child.stdout.on("data", (chunk: Buffer) => {
    framer.push(chunk);
    if (!listener.isFull) return;
    child.stdout.pause();
    listener.whenReady(() => child.stdout.resume());
  });
  child.stdout.on("error", () => {});

  async function finish(): Promise<void> {
    toServer.end();
    await Promise.race([child.ended, delay(graceMs, undefined, { ref: false })]);
    child.kill();
    child.release();
  }

  void child.ended.then(async () => {
    if (isOver) return;
    isOver = true;
    await delay(LEFTOVER_MS); // the last of what it said
    onEnd();
    await finish();
  });

  return {
    send(payload) {
      if (!isOver) toServer.joinLine(flatten(whole(payload)));
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
      child.kill();
      child.release();
    },
  };
}

const TOO_LARGE = { code: -32000, message: "Response too large" };
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
