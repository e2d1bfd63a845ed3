import { admits } from "../link/http/client-head.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyJson } from "../link/http/reply.ts";
import { mergeBatches } from "../message/compose.ts";
import type { Call } from "../session/call.ts";
import { beginStream, type EventStream } from "./event-stream.ts";

/** The HTTP reply to a client's POST, whose responses come from the server. */
export interface PostReply {
  /** Whether other messages can be sent before the response. */
  readonly canStream: boolean;
  isFull(): boolean;
  whenReady(resume: () => void): void;
  /** How many bytes the client has not read yet. */
  behind(): number;
  /** Closes the connection to a client that does not read. */
  cut(): void;
  /** Sends a message that is not a response. */
  send(message: Buffer): void;
  /**
   * Sends a message that answers one of the calls, or several in a batch. The reply ends when all calls are answered.
   */
  answer(calls: readonly Call[], message: Buffer, status: number): void;
  end(): void;
}

/** Options of a reply. */
export interface PostReplyOptions {
  readonly visit: Visit;
  readonly calls: readonly Call[];
  /** Header names and values, alternating. */
  readonly headers: readonly string[];
  /** Called if the client disconnects before all calls are answered. */
  readonly onGone: (calls: ReadonlySet<Call>) => void;
}

/**
 * If there is no response after this time, the response head is sent, so that the client knows its request has arrived.
 */
const HEAD_AFTER_MS = 2000;

/**
 * Makes a reply: one JSON body if there are only responses, an event stream if there are other messages. It uses
 * methods instead of getters: V8 keeps a hidden class for each object that has its own getters, and with it the whole
 * request.
 */
export function createPostReply({ visit, calls, headers, onGone }: PostReplyOptions): PostReply {
  const { response, head } = visit;
  const waiting = new Set(calls);
  const canStream = admits(head.accept, "text/event-stream");
  const isSingle = calls.length === 1 && admits(head.accept, "application/json");
  let stream: EventStream | null = null;
  let isOver = false;
  // responses to a batch for a client that does not accept event streams: they are sent in one body
  const kept: Buffer[] = [];

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
