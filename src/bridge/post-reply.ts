import { admits } from "../link/http/client-head.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyJson } from "../link/http/reply.ts";
import { mergeBatches } from "../message/compose.ts";
import type { Call } from "../session/call.ts";
import { beginStream, type EventStream } from "./event-stream.ts";

/** What a client is answered to a request that others have to answer first. */
export interface PostReply {
  /** Whether messages can be sent before the answer. */
  readonly canStream: boolean;
  isFull(): boolean;
  whenReady(resume: () => void): void;
  /** How many bytes the client has not taken yet. */
  behind(): number;
  /** Gives up on a client that does not read. For it, the connection broke. */
  cut(): void;
  /** Sends something that is no answer. */
  send(message: Buffer): void;
  /** Sends a message that answers some of the calls: one, or several in a batch. With the last of them it is over. */
  answer(calls: readonly Call[], message: Buffer, status: number): void;
  end(): void;
}

/** What a reply is made of. */
export interface PostReplyOptions {
  readonly visit: Visit;
  readonly calls: readonly Call[];
  /** Header names and values by turns. */
  readonly headers: readonly string[];
  /** The client is gone before all was answered. */
  readonly onGone: (calls: ReadonlySet<Call>) => void;
}

/** After this long without an answer the head leaves, so that the client sees that it was heard. */
const HEAD_AFTER_MS = 2000;

/**
 * Makes a reply: one JSON body where there is nothing but the answer, an event stream where there is more. Its methods
 * are no getters: V8 keeps a shape for each object that has such of its own, and with it all of the request.
 */
export function createPostReply({ visit, calls, headers, onGone }: PostReplyOptions): PostReply {
  const { response, head } = visit;
  const waiting = new Set(calls);
  const canStream = admits(head.accept, "text/event-stream");
  const isSingle = calls.length === 1 && admits(head.accept, "application/json");
  let stream: EventStream | null = null;
  let isOver = false;
  const kept: Buffer[] = []; // answers of a batch for a client that takes no event stream: they leave in one body

  function open(): EventStream {
    clearTimeout(timer);
    stream ??= beginStream(response, headers, () => {});
    return stream;
  }

  function finish(): void {
    isOver = true;
    clearTimeout(timer);
  }

  const timer = setTimeout(() => {
    if (canStream && !isOver) open();
  }, HEAD_AFTER_MS).unref();

  response.on("close", () => {
    if (isOver) return;
    finish();
    onGone(waiting);
  });

  return {
    canStream,
    isFull: () => stream?.outlet.isFull ?? false,
    whenReady(resume) {
      if (stream === null) resume();
      else stream.outlet.whenReady(resume);
    },
    behind: () => response.writableLength,
    cut: () => void response.destroy(),
    send(message) {
      if (!isOver) open().send(message);
    },
    answer(answered, message, status) {
      const before = waiting.size;
      for (const call of answered) waiting.delete(call);
      if (isOver || waiting.size === before) return;
      if (stream === null && (isSingle || !canStream)) {
        kept.push(message);
        if (waiting.size > 0) return;
        finish();
        return replyJson(response, status, kept.reduce(mergeBatches), headers);
      }
      open().send(message);
      if (waiting.size > 0) return;
      finish();
      stream?.end();
    },
    end() {
      if (isOver) return;
      finish();
      if (stream === null) replyEmpty(response, 202, headers);
      else stream.end();
    },
  };
}
