import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { ChildEnd, ChildServer } from "../link/child.ts";
import type { WireError } from "../message/compose.ts";
import type { Witness } from "../record/witness.ts";
import { createOutlet, type Outlet } from "../relay/outlet.ts";
import type { Passage } from "../relay/passage.ts";
import { pump } from "../relay/pump.ts";
import { LINES } from "../session/exchange.ts";

/** Where a client on our own stdin and stdout is. */
export interface ClientSide {
  readonly input: Readable;
  readonly output: Writable;
}

/** What a conversation is made of. */
export interface ConversationOptions {
  readonly client: ClientSide;
  readonly child: ChildServer;
  readonly witness: Witness;
  readonly maxMessageBytes: number;
  readonly graceMs: number;
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

/** How a conversation ended. */
export interface ConversationEnd {
  readonly code: number;
  /** Whether the server went while the client was still there. */
  readonly lost: boolean;
}

/** What those hear who wait when nobody will answer any more. */
export const CLOSED: WireError = { code: -32000, message: "Connection closed" };

/** Joins a client and a child. */
export function createConversation(options: ConversationOptions): Conversation {
  const { client, child, witness, maxMessageBytes, graceMs } = options;
  let closed = false; // the client has said all it had to say
  let broken = false; // the client does not listen any more
  let stopped = false; // we were told to end
  let killed = false; // the child did not end by itself
  const toClient = createOutlet(client.output, () => {
    broken = true;
    wind();
  });
  // A child that dies breaks its stdin. Its end is news enough.
  const toServer = createOutlet(child.stdin, () => {});

  let winding = false;
  /** Closes the child's stdin and gives it a while. */
  function wind(): void {
    if (winding) return;
    winding = true;
    toServer.end();
    setTimeout(kill, graceMs).unref();
  }

  function kill(): void {
    killed = true;
    child.kill();
  }

  return {
    toServer,
    toClient,
    async run(passage) {
      const shared = { passage, exchange: LINES, witness, maxMessageBytes };
      const up = pump({ direction: "up", source: client.input, onward: toServer, back: toClient }, shared);
      const down = pump({ direction: "down", source: child.stdout, onward: toClient, back: toServer }, shared);
      void up.then(() => {
        closed = !stopped;
        wind();
      });
      const end = await child.ended;
      const lost = !closed && !broken && !stopped;
      await Promise.race([down, delay(LEFTOVER_MS)]);
      // What it started may still run, and hold its stdout open.
      child.kill();
      await Promise.race([down, silence(child.stdout, toClient)]);
      for (const answer of passage.giveUp("up", CLOSED)) toClient.writeLine(answer);
      await flushed(client.output, toClient);
      child.release();
      return { code: exitCode(end), lost };
    },
    stop() {
      if (stopped) return kill();
      stopped = true;
      child.terminate();
      wind();
    },
  };

  function exitCode({ code, signal }: ChildEnd): number {
    if (stopped || broken) return 1;
    if (killed) return 0;
    if (code !== null && code !== 0) return code;
    return signal === null && closed ? 0 : 1;
  }
}

/** How long the last of a child's output may take once the child is gone. */
const LEFTOVER_MS = 200;

/** How long a client may take to read the last of what it is owed. */
const FLUSH_MS = 2000;

/** Resolves when nothing more comes and it is not the client who holds it up. */
async function silence(source: Readable, outlet: Outlet): Promise<void> {
  for (let read = -1; ;) {
    const now = (source as { bytesRead?: number }).bytesRead ?? 0;
    if (now === read && !outlet.isFull) return;
    read = now;
    await delay(500, undefined, { ref: true });
  }
}

async function flushed(stream: Writable, outlet: Outlet): Promise<void> {
  if (outlet.isClosed) return;
  const finished = new Promise<void>((resolve) => {
    stream.once("close", resolve);
    stream.once("error", () => resolve());
    stream.end(resolve);
  });
  await Promise.race([finished, delay(FLUSH_MS, undefined, { ref: false })]);
}
